package boot

import (
	"strings"

	"piloto/internal/edge/gateway"
	"piloto/internal/live/managementapi"
	"piloto/internal/live/realtime"
)

// Push is the endpoint through which connected clients are notified.
type Push struct {
	Endpoint string `env:"REALTIME_ENDPOINT"` // management API; empty: clients are not notified
}

// RealtimeConfig is the configuration of functions/realtime.
type RealtimeConfig struct {
	Config
	Push
	Origins string `env:"REALTIME_ORIGINS"` // origins of pages that may connect, separated by commas
}

// withPush returns the site with a store that notifies connected clients of its writes.
func (s site) withPush(p Push) site {
	if p.Endpoint != "" {
		hub := &realtime.Hub{Connections: s.stores.Access, Poster: managementapi.New(s.Push, p.Endpoint), Now: s.Now, Log: s.log, Idle: s.Idle}
		s.stores = s.stores.Announcing(s.Watches.Over(hub))
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
