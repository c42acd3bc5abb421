/* Light or dark: as the reader's system prefers, until the reader says otherwise. */
const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const dress = () => (root.dataset.theme = localStorage.getItem("theme") || (dark.matches ? "dark" : "light"));
dress();
dark.addEventListener("change", dress);
document.addEventListener("DOMContentLoaded", () => {
  document.getElementById("theme").addEventListener("click", () => {
    localStorage.setItem("theme", root.dataset.theme === "dark" ? "light" : "dark");
    dress();
  });
});
