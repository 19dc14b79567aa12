for (const chip of document.querySelectorAll(".chip")) {
  chip.addEventListener("click", () => {
    for (const other of document.querySelectorAll(".chip")) other.classList.toggle("active", other === chip);
    for (const site of document.querySelectorAll(".site"))
      site.hidden = chip.dataset.verdict !== "" && site.dataset.verdict !== chip.dataset.verdict;
  });
}
