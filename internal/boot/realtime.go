package boot

import (
	"strings"

	"piloto/internal/edge/gateway"
	"piloto/internal/live/managementapi"
	"piloto/internal/live/realtime"
)

// Push says where connected clients are reached.
type Push struct {
	Endpoint string `env:"REALTIME_ENDPOINT"` // of the management API; empty: nobody is told
}

// RealtimeConfig is what functions/realtime reads.
type RealtimeConfig struct {
	Config
	Push
	Origins string `env:"REALTIME_ORIGINS"` // of pages that may connect, separated by commas
}

// telling has what the site stores told to whoever is connected.
func (s site) telling(p Push) site {
	if p.Endpoint != "" {
		hub := &realtime.Hub{Connections: s.stores.Access, Poster: managementapi.New(s.Push, p.Endpoint), Now: s.Now, Log: s.log}
		s.stores = s.stores.Announcing(hub)
		s.listeners = hub
	}
	return s
}

// Realtime builds functions/realtime.
func Realtime(w World, e Environment) (gateway.Function, error) {
	c, err := read[RealtimeConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config)
	desk := &realtime.Handler{
		Connections: s.stores.Access, Tokens: s.stores.Access, Poster: managementapi.New(w.Push, c.Endpoint),
		Origins: origins(c.Origins), Meter: s.meter, Now: w.Now, Log: s.log,
	}
	return gateway.NewFunction(gateway.Socket(desk)), nil
}

func origins(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// StartRealtime runs functions/realtime.
func StartRealtime() { StartTask(Realtime) }
