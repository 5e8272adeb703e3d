package process

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"piloto/infra/local/demo"
	"piloto/internal/tools/tool"
)

// The paths of the demonstration, below the origin of the process.
const (
	demoModelPath   = "/demo/model"
	demoServicePath = "/demo/rooms"
	demoAgentPath   = "/demo/reserva"
	demoModelName   = "piloto-demo"
	demoServiceName = "Reservas" // the title of its document, in Spanish
)

type demoPart struct {
	path, mark string
	as         tool.Registration
}

// demoParts lists the servers of the demonstration in the order of registration, each with the file
// that stores its registered address.
var demoParts = []demoPart{
	{path: demoServicePath, mark: "demo.registered", as: tool.Registration{Reads: tool.WantedReads{Mode: tool.ReadsOn}}},
	{path: demoAgentPath, mark: "demo.agent.registered", as: tool.Registration{
		Name: demo.AgentName, Kind: tool.KindMCP, Role: tool.RoleAgent,
		About:    "Salas de demostración: dice qué horas están libres, reserva una sala y cancela una reserva por su número.",
		Keywords: []string{"sala", "reserva", "reservar", "disponibilidad", "libre", "room", "book", "booking", "reservation"},
	}},
}

// demonstration is a model, a service and an agent of this process. The service and the agent describe themselves, also
// where they are registered, in the language of the person who asked last; at the start, in that of the terminal.
type demonstration struct {
	p       *Process
	key     string        // that its callers need; empty: there is no demonstration
	service *demo.Service // nil before mount
	mu      sync.Mutex    // held while the registered servers change
}

// mount serves the demonstration model, service and agent in front of the API, to callers with
// their key.
func (d *demonstration) mount(api http.Handler) (http.Handler, error) {
	service, err := demo.NewService(demo.WithFile(filepath.Join(d.p.Data, "demo.jsonl")))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(demoModelPath+"/", http.StripPrefix(demoModelPath, demo.NewModel(d.p.Clock)))
	mux.Handle(demoServicePath+"/", http.StripPrefix(demoServicePath, service))
	talks := demo.NewAgent(service, d.p.Clock)
	service.Speak(d.p.Person.Lang)
	d.service = service
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, demoModelPath+"/"), strings.HasPrefix(path, demoServicePath+"/"):
			d.withKey(mux).ServeHTTP(w, r)
		case path == demoAgentPath:
			d.withKey(talks).ServeHTTP(w, r)
		default:
			d.followLanguage(r)
			api.ServeHTTP(w, r) // a mux would clean paths that the API must receive unchanged
		}
	}), nil
}

// demoOffFile stores the ids of the demonstration servers that a start without the demonstration
// switched off.
const demoOffFile = "demo.off"

// switchServers switches registered demonstration servers off when the demonstration does not answer at
// their address, so that no model proposes them and nobody else is sent their key. It switches the same
// servers on when the demonstration is back. A server that a person switched off stays off.
func (d *demonstration) switchServers(ctx context.Context, registry tool.Registry, answers bool) error {
	mark := firstStart{filepath.Join(d.p.Data, demoOffFile)}
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
		case answers && !s.Active && slices.Contains(off, s.ID):
			_, err = registry.SetActive(ctx, defaultAccount, s.ID, true, d.p.Clock())
		case !answers && s.Active && d.isPart(s):
			off = append(off, s.ID)
			if err = mark.write(strings.Join(off, " ")); err == nil {
				_, err = registry.SetActive(ctx, defaultAccount, s.ID, false, d.p.Clock())
			}
		}
		if err != nil {
			return err
		}
	}
	if answers && text != "" {
		return mark.write("")
	}
	return nil
}

// ServedAt returns the address at which the demonstration of a folder is registered, host:port; "" when it is not, or not on
// loopback. A command that opens the folder there changes nothing.
func ServedAt(folder string) string {
	at, err := url.Parse(demoParts[0].registeredIn(folder))
	if err != nil || !OnThisMachine(at.Host) {
		return ""
	}
	return at.Host
}

// registeredIn returns the URL at which a part is registered in a data folder; "" when it is not.
func (d demoPart) registeredIn(folder string) string {
	at, err := firstStart{filepath.Join(folder, d.mark)}.read()
	if err != nil {
		return ""
	}
	return at
}

// isElsewhere reports whether the demonstration is registered at another address than that of this process.
func (d *demonstration) isElsewhere() bool {
	return slices.ContainsFunc(demoParts, func(part demoPart) bool {
		at := part.registeredIn(d.p.Data)
		return at != "" && at != d.p.origin+part.path
	})
}

// isPart reports whether a server belongs to the demonstration, at any address.
func (d *demonstration) isPart(s tool.Server) bool {
	return slices.ContainsFunc(demoParts, func(part demoPart) bool {
		return s.BaseURL != "" && s.BaseURL == part.registeredIn(d.p.Data)
	})
}

// registerDemo registers a server of the demonstration at the first start, and again when the
// address of the process changed. A server that a person removed stays removed, and what may be read
// of it stays as it is. An agent that a person registered under the same name is kept.
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
		case as.URL: // the process ended between registration and the write of the mark
			return mark.write(as.URL)
		case before:
			kept = true
			as.Reads, as.Errors = tool.WantedReads{Mode: s.Reads.Mode, Zone: s.Reads.Zone}, s.Errors
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
