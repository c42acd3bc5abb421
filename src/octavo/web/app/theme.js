// @ts-check
/* Runs before anything is painted, so that a page in dark colours never flashes white. */
try {
  const chosen = localStorage.getItem("octavo.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  /* Storage is forbidden: the system's colours are fine. */
}
