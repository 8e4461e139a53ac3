"""What every console in the browser has in common: sessions, the guard before all pages, the look, the sign-on.

`application` puts a console's pages behind `guard`; `sessions` are in memory and end; `entrance` is the one-time link
by which a console on loopback is opened; `sign_on` is single sign-on (OIDC) where a console is shared; `pages` renders
templates; `serving` listens. The pages themselves are `coordinator.console`'s, and a custodian's its own.
"""
