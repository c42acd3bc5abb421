/* Runs before anything is painted, so that a page read in the dark never flashes white. */
try {
  const chosen = localStorage.getItem("octavo.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  /* Storage is closed to us: the system's colours are fine. */
}
