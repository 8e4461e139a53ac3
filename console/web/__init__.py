"""What every console in the browser has in common: sessions, the guard before all pages, the look, the sign-on."""
