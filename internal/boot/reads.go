package boot

import (
	"time"

	"piloto/internal/runs/step"
	"piloto/internal/tools/outbound"
)

// previewTimeout is the timeout of one read before the confirmation of a plan.
const previewTimeout = 5 * time.Second

// previews returns the client for the reads of a plan before its confirmation.
func (s site) previews(t Tools) step.Preview {
	return step.Preview{Reader: step.Reader{
		Stores: s.stepStores(), Schemas: t.Schemas, Sender: outbound.NewSender(s.world.outbound(previewTimeout), s.world.Now).With(s.world.tokens()), Log: s.log, Now: s.world.Now,
	}}
}

// reads returns the client for the reads of turns.
func (s site) reads(t Tools) step.Reader {
	bearer := s.world.tokens()
	reader := step.Reader{Stores: s.stepStores(), Schemas: t.Schemas, Sender: outbound.NewSender(s.world.outbound(step.ReadTime), s.world.Now).With(bearer), Log: s.log, Now: s.world.Now}
	if t.Caller != nil {
		reader.Caller = t.Caller(s.world, step.ReadTime, bearer)
	}
	return reader
}
