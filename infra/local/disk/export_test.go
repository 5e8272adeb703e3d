package disk

// Dump is all that is in a store.
var Dump = dump
