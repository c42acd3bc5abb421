// @ts-check
/* Runs before anything is painted, so that a page in dark colours never flashes white and no type changes its size. */
try {
  const chosen = localStorage.getItem("octavo.theme") || "";
  if (["light", "sepia", "dark"].includes(chosen)) document.documentElement.dataset.theme = chosen;
  const size = Number(localStorage.getItem("octavo.size"));
  if (size >= 80 && size <= 200) {
    document.documentElement.dataset.size = String(size);
    document.documentElement.style.setProperty("--type-size", String(size / 100));
  }
} catch {
  /* Storage is forbidden: the system's colours are fine. */
}
