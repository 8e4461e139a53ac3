"""``gemel risk`` and ``gemel keyvars``; they import what they need when they run, so that help is instant."""
