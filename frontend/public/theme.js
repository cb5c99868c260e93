// Runs before the first paint, to avoid a flash of the wrong theme.
try {
  const theme = localStorage.getItem("tunix-rt.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be disabled; then the system theme is used.
}
