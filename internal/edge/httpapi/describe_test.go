package httpapi

import (
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// whole is the document: every route, bound to one huma API.
type whole struct {
	*api
	huma huma.API
}

func (a *whole) operation(method, path string) *huma.Operation {
	return operationOf(a.huma, method, path)
}

func (a *whole) bodySchema(op *huma.Operation) *huma.Schema { return bodySchema(a.huma, op) }

// describe registers every group on services that do not exist, only for the document.
func describe() *whole {
	a := newAPI(Config{})
	a.chat(nil)
	a.routed(nil)
	a.confirm(nil)
	a.drafts(runHandler{})
	a.jobs(nil, nil)
	a.ai(AIServices{})
	a.registry(nil)
	a.rules()
	a.agents()
	a.companies(nil)
	a.records(Stores{}, nil, nil)
	a.memory(nil)
	a.files(nil, nil)
	w := &whole{a, newHuma(&boundRoute{}, newSchemas())}
	for _, r := range a.router.routes {
		r.bind(w.huma)
		r.describe(w.huma)
	}
	return w
}

// described is the whole API, built once.
var described = sync.OnceValue(describe)
