"""What every console in the browser has in common: sessions, the guard before all pages, the look, the sign-on.

`opening` puts a console's pages behind `guard`, by `application`; `sessions` are in memory and end; `entrance` is the
one-time link by which a console on loopback is opened; `sign_on` is single sign-on (OIDC) where a console is shared;
`pages` renders templates; `serving` listens. Pages that all consoles have are here too: the list of projects
(`listing`), a specification in words, the ends of certificates, reports in frames. The others are
`console.coordinator`'s and `console.custodian`'s.
"""
