package boot

import (
	"context"
	"strings"
	"time"

	"piloto/internal/boot/signed"
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
		s.pushes = &realtime.Queue{Hub: &realtime.Hub{
			Connections: s.stores.Access, Poster: s.world.poster(p), Now: s.world.Now, Log: s.log, Idle: s.world.Idle, Remember: s.world.remember(),
		}}
		s.stores = s.stores.Announcing(s.world.Watches.Over(s.pushes))
		s.listeners = s.pushes
	}
	return s
}

// poster returns the way to connected clients.
func (w World) poster(p Push) *managementapi.Poster {
	return &managementapi.Poster{API: signed.New(w.Push, "execute-api", p.Endpoint, w.Now)}
}

// remember is how long connections are remembered: not where the sockets are in this process.
func (w World) remember() time.Duration {
	if w.Idle != nil {
		return 0
	}
	return realtime.Remember
}

// flush waits for the pushes of an invocation that is about to end, because its process may then be frozen.
func (s site) flush(ctx context.Context) {
	if s.world.Idle == nil {
		s.pushes.Flush(ctx)
	}
}

// task returns a function of a site, whose pushes are sent when it has ended.
func task[In, Out any](s site, f func(context.Context, In) (Out, error)) gateway.Function {
	return gateway.NewFunction(func(ctx context.Context, in In) (Out, error) {
		defer s.flush(ctx)
		return f(ctx, in)
	})
}

// Realtime builds functions/realtime.
func Realtime(w World, e Environment) (gateway.Function, error) {
	c, err := read[RealtimeConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config)
	desk := &realtime.Handler{
		Connections: s.stores.Access, Tokens: s.stores.Access, Poster: w.poster(c.Push),
		Origins: origins(c.Origins), Meter: s.meter, Now: w.Now, Log: s.log,
		Remember: w.remember(),
	}
	return gateway.NewFunction(gateway.Socket(desk)), nil
}

func origins(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// StartRealtime runs functions/realtime.
func StartRealtime() { StartTask(Realtime) }
