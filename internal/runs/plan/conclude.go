package plan

// Conclude is whether the model writes the conclusion of a run.
type Conclude string

// The values of Conclude. An empty one is no.
const (
	ConcludeWanted Conclude = "wanted" // it does when the run ends
	ConcludeDue    Conclude = "due"    // the run ended, and so it does, or did
)
