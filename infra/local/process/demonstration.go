package process

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
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

// mountDemo serves the demonstration model, service and agent in front of the API, to callers with
// their key.
func (p *Process) mountDemo(api http.Handler) (http.Handler, error) {
	service, err := demo.NewService(demo.WithFile(filepath.Join(p.Data, "demo.jsonl")))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(demoModelPath+"/", http.StripPrefix(demoModelPath, demo.NewModel(p.Clock)))
	mux.Handle(demoServicePath+"/", http.StripPrefix(demoServicePath, service))
	talks := demo.NewAgent(service, p.Clock)
	service.Speak(p.Person.Lang)
	p.demoSpeech = &demoSpeech{service: service}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, demoModelPath+"/"), strings.HasPrefix(path, demoServicePath+"/"):
			p.withDemoKey(mux).ServeHTTP(w, r)
		case path == demoAgentPath:
			p.withDemoKey(talks).ServeHTTP(w, r)
		default:
			p.followLanguage(r)
			api.ServeHTTP(w, r) // a mux would clean paths that the API must receive unchanged
		}
	}), nil
}

// demoOffFile stores the ids of the demonstration servers that a start without the demonstration
// switched off.
const demoOffFile = "demo.off"

// switchDemo switches registered demonstration servers off when the demonstration does not answer at
// their address, so that no model proposes them and nobody else is sent their key. It switches the same
// servers on when the demonstration is back. A server that a person switched off stays off.
func (p *Process) switchDemo(ctx context.Context, registry tool.Registry, answers bool) error {
	mark := firstStart{filepath.Join(p.Data, demoOffFile)}
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
			_, err = registry.SetActive(ctx, defaultAccount, s.ID, true, p.Clock())
		case !answers && s.Active && p.isDemo(s):
			off = append(off, s.ID)
			if err = mark.write(strings.Join(off, " ")); err == nil {
				_, err = registry.SetActive(ctx, defaultAccount, s.ID, false, p.Clock())
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
	text, err := firstStart{filepath.Join(folder, demoParts[0].mark)}.read()
	if err != nil {
		return ""
	}
	at, err := url.Parse(text)
	if err != nil || !OnThisMachine(at.Host) {
		return ""
	}
	return at.Host
}

// demoIsElsewhere reports whether the demonstration is registered at another address than that of this process.
func (p *Process) demoIsElsewhere() bool {
	return slices.ContainsFunc(demoParts, func(part demoPart) bool {
		at, err := firstStart{filepath.Join(p.Data, part.mark)}.read()
		return err == nil && at != "" && at != p.origin+part.path
	})
}

// isDemo reports whether a server belongs to the demonstration, at any address.
func (p *Process) isDemo(s tool.Server) bool {
	return slices.ContainsFunc(demoParts, func(part demoPart) bool {
		at, err := firstStart{filepath.Join(p.Data, part.mark)}.read()
		return err == nil && at != "" && s.BaseURL == at
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
