package command

// Due lets tests ask whether a step waits for a replacement.
var Due = isDue
