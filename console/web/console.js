"use strict";
// Parts of a page that change by themselves: each names where it is fetched from, and is put in place when it differs.
// Nothing else is done here; without this script the page is the same, and is loaded again by hand.
const announce = (part) => {
  // For screen readers: the state in a sentence, not the whole part again.
  const place = document.querySelector("[data-announced]");
  const words = part.querySelector("[data-announce]");
  if (place && words && place.textContent !== words.dataset.announce) {
    place.textContent = words.dataset.announce;
  }
};
for (const part of document.querySelectorAll("[data-live]")) {
  const seconds = Number(part.dataset.seconds || "2");
  let shown = null;
  const renew = async () => {
    if (!document.hidden) {
      try {
        const answer = await fetch(part.dataset.live, {headers: {"X-Live": "1"}, redirect: "error"});
        const busy = document.activeElement && document.activeElement.closest("form");
        if (answer.headers.has("X-Reload") && !busy) {
          location.reload();
          return;
        }
        if (answer.ok) {
          const text = await answer.text();
          if (text !== shown) {
            part.innerHTML = text;
            shown = text;
            announce(part);
          }
        }
      } catch {
        // The console is away; the next try may reach it.
      }
    }
    setTimeout(renew, seconds * 1000);
  };
  setTimeout(renew, seconds * 1000);
}
