package store

// MostSetups is the number of setups that a process keeps.
const MostSetups = mostSetups
