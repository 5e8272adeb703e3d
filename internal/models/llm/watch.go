package llm

import (
	"context"
	"encoding/json"
)

// Exchange is one request to a provider and its answer, as they were sent.
type Exchange struct {
	Request []byte
	Answer  []byte // at most MostWatched bytes of it
	NoAPI   bool   // the answer is a page, or anything else that is none of such a provider
}

// MostWatched is the longest part of an answer that a watcher gets.
const MostWatched = 256 << 10

type watchKey struct{}

// Watching returns a context in which watch gets each exchange with a provider, when its answer was read.
func Watching(ctx context.Context, watch func(Exchange)) context.Context {
	return context.WithValue(ctx, watchKey{}, watch)
}

// Watcher returns the function that gets the exchanges of a context; nil for none.
func Watcher(ctx context.Context) func(Exchange) {
	watch, _ := ctx.Value(watchKey{}).(func(Exchange))
	return watch
}

// Listed is a model of a provider's list. Window is the most tokens of a prompt and its answer together; 0: the list does
// not say it.
type Listed struct {
	ID     string
	Window int
}

// Learner is a client that finds out what the models of its provider refuse, and what they are like.
type Learner interface {
	Model
	// List returns the provider's list of models; none where it has no such list. Its errors are those of Probe.
	List(ctx context.Context) ([]Listed, error)
	// Learned returns what is known of a model, as JSON for another client; nil for nothing.
	Learned(model string) json.RawMessage
}
