package disk

import "time"

// Dump is all that is in a store.
var Dump = dump

// FullEngines is what a child does with both engines, which import this package.
var FullEngines func(path string) error

// TimePassed has the store try at the next question whether there is room again.
func (s *Store) TimePassed() {
	s.trouble.mu.Lock()
	defer s.trouble.mu.Unlock()
	s.trouble.tried = time.Time{}
}
