/* Runs before the first paint, so that a chosen theme does not flash. A file of its own because the
   page's policy allows no inline script. */
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch {
  /* storage is switched off: the system's preference applies */
}
