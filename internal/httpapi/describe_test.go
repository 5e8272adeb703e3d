package httpapi

import "sync"

// describe registers every group on services that do not exist: what comes out
// is read, and never served.
func describe() *api {
	a := newAPI(Config{})
	a.chat(nil)
	a.confirm(nil)
	a.ai(AIServices{})
	a.registry(nil)
	a.rules()
	a.companies(nil)
	a.records(nil, nil)
	a.memory(nil)
	return a
}

// described is the whole API, once.
var described = sync.OnceValue(describe)
