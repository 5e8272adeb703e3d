// The receipt is complete without this: it only prints.

document.querySelector("[data-print]").addEventListener("click", () => print());
