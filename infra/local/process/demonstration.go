package process

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"piloto/infra/local/demo"
	"piloto/internal/tools/tool"
)

// Where the demonstration is served, below the process's own origin.
const (
	demoModelPath   = "/demo/model"
	demoServicePath = "/demo/rooms"
	demoAgentPath   = "/demo/reserva"
	demoModelName   = "piloto-demo"
)

type demoPart struct {
	path, mark string
	as         tool.Registration
}

// demoParts are what is registered of the demonstration, in this order, and the
// file that remembers where.
var demoParts = []demoPart{
	{path: demoServicePath, mark: "demo.registered"},
	{path: demoAgentPath, mark: "demo.agent.registered", as: tool.Registration{
		Name: demo.AgentName, Kind: tool.KindMCP, Role: tool.RoleAgent,
		About:    "Salas de demostración: dice qué horas están libres, reserva una sala y cancela una reserva por su número.",
		Keywords: []string{"sala", "reserva", "reservar", "disponibilidad", "libre", "room", "book", "booking", "reservation"},
	}},
}

// mountDemo puts the demonstration model, service and agent before the API, for whoever
// has their key.
func (p *Process) mountDemo(api http.Handler) (http.Handler, error) {
	service, err := demo.NewService(demo.WithFile(filepath.Join(p.Data, "demo.jsonl")))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(demoModelPath+"/", http.StripPrefix(demoModelPath, demo.NewModel(demo.WithToday(p.Clock))))
	mux.Handle(demoServicePath+"/", http.StripPrefix(demoServicePath, service))
	talks := demo.NewAgent(service, p.Clock)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, demoModelPath+"/"), strings.HasPrefix(path, demoServicePath+"/"):
			p.withDemoKey(mux).ServeHTTP(w, r)
		case path == demoAgentPath:
			p.withDemoKey(talks).ServeHTTP(w, r)
		default:
			api.ServeHTTP(w, r) // a mux would clean paths that the API must see as they are
		}
	}), nil
}

// demoOff is the file that names the parts of the demonstration that a start without it
// switched off, by the ids of their servers.
const demoOff = "demo.off"

// switchDemo switches the registered parts of the demonstration off where nothing answers at
// their address, so that no model proposes them. What it switched off it switches on when the
// demonstration is back; what a person switched off stays so.
func (p *Process) switchDemo(ctx context.Context, registry tool.Registry) error {
	mark := firstStart{filepath.Join(p.Data, demoOff)}
	text, err := mark.read()
	if err != nil {
		return err
	}
	off := strings.Fields(text)
	servers, err := registry.List(ctx, defaultAccount)
	if err != nil {
		return err
	}
	for _, s := range servers {
		switch {
		case p.Demo && !s.Active && slices.Contains(off, s.ID):
			_, err = registry.SetActive(ctx, defaultAccount, s.ID, true, p.Clock())
		case !p.Demo && s.Active && p.ofDemo(s):
			off = append(off, s.ID)
			if err = mark.write(strings.Join(off, " ")); err == nil {
				_, err = registry.SetActive(ctx, defaultAccount, s.ID, false, p.Clock())
			}
		}
		if err != nil {
			return err
		}
	}
	if p.Demo && text != "" {
		return mark.write("")
	}
	return nil
}

// ofDemo reports whether a server is a part of the demonstration, wherever it was registered.
func (p *Process) ofDemo(s tool.Server) bool {
	return slices.ContainsFunc(demoParts, func(part demoPart) bool {
		at, err := firstStart{filepath.Join(p.Data, part.mark)}.read()
		return err == nil && at != "" && s.BaseURL == at
	})
}

// registerDemo registers a part of the demonstration at the first start, and again
// when the process moved to another address. One that a person removed stays
// removed, and an agent of a person's own keeps the name that it has.
func registerDemo(ctx context.Context, registry tool.Registry, mark firstStart, as tool.Registration, at time.Time) error {
	before, err := mark.read()
	if err != nil || before == as.URL {
		return err
	}
	servers, err := registry.List(ctx, defaultAccount)
	if err != nil {
		return err
	}
	kept := before == ""
	for _, s := range servers {
		switch s.BaseURL {
		case as.URL: // the process ended between the two
			return mark.write(as.URL)
		case before:
			kept = true
			if err := registry.Delete(ctx, defaultAccount, s.ID); err != nil {
				return err
			}
		}
	}
	if kept {
		if _, _, err := registry.Register(ctx, defaultAccount, as, at); err != nil && !errors.Is(err, tool.ErrAgentTaken) {
			return err
		}
	}
	return mark.write(as.URL)
}
