// Runs before anything is drawn: the theme somebody chose, else that of the system.
"use strict";
(() => {
  try {
    const chosen = localStorage.getItem("indextables-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // no storage: the system decides
  }
})();
