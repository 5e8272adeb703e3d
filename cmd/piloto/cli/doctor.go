package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/client"
	"piloto/infra/local/process"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/visible"
)

// The limits of what doctor finds good.
const (
	mostSkew    = 30 * time.Second // of the clock; signatures allow five minutes
	askProvider = 10 * time.Second
)

// finding is what doctor found in one place.
type finding struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Text string `json:"found"`
	Do   string `json:"do,omitempty"` // what to do next
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Look at ports, data folder, keys, provider, clock and versions, and say what to do", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list := a.examine(cmd.Context())
			bad := false
			for _, f := range list {
				bad = bad || !f.OK
			}
			if a.global.json {
				if err := a.printJSON(map[string]any{"findings": list}); err != nil {
					return err
				}
			} else {
				for _, f := range list {
					fmt.Fprintf(a.out, "%-4s %-9s %s\n", map[bool]string{true: "ok", false: "BAD"}[f.OK], f.What, f.Text)
					if f.Do != "" {
						fmt.Fprintf(a.out, "     %-9s → %s\n", "", f.Do)
					}
				}
			}
			if bad {
				return refusal("cli.doctor.found")
			}
			return nil
		},
	}
}

// examine looks at everything.
func (a *app) examine(ctx context.Context) []finding {
	list := []finding{{What: "version", OK: true, Text: fmt.Sprintf("%s, %s, %s/%s", Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)}}
	data, err := a.dataFolder()
	running := false
	if err != nil {
		list = append(list, finding{What: "data", Text: a.worded(err).Error()})
	} else {
		var more []finding
		more, running = a.examineProcess(ctx, data)
		list = append(append(list, a.examineFolder()), more...)
	}
	if !running { // a process has the provider of its own start
		list = append(list, a.examineProvider(ctx)...)
	}
	if origin, token, err := a.target(); err != nil {
		list = append(list, finding{What: "login", Text: a.worded(err).Error()})
	} else if origin != here {
		list = append(list, a.examineDeployment(ctx, client.New(origin, token, string(a.tag)))...)
	}
	return list
}

// examineProcess looks at the process that has the data folder, and reports whether there is one.
func (a *app) examineProcess(ctx context.Context, data string) (list []finding, running bool) {
	at, err := process.Find(ctx, data)
	switch {
	case err == nil:
		list = append(list, finding{What: "process", OK: true, Text: "runs on " + at.Origin})
		c := client.New(at.Origin, at.Token, string(a.tag))
		list = append(append(list, a.examineDeployment(ctx, c)...), a.examineStatus(ctx, c))
	case errors.Is(err, process.ErrNoProcess):
		list = append(list, finding{What: "process", OK: true, Text: "none has the data folder", Do: "piloto up --data " + visible.Word(data)})
		list = append(list, examinePort(ctx))
	default:
		list = append(list, finding{What: "process", Text: a.worded(err).Error()})
	}
	return list, err == nil
}

// examineStatus asks a process which model answers there.
func (a *app) examineStatus(ctx context.Context, c *client.Client) finding {
	got, err := client.Get[httpapi.AIStatus](ctx, c, "/ai/status", nil)
	switch {
	case err != nil:
		return finding{What: "provider", Text: a.worded(err).Error()}
	case !got.Configured:
		return finding{What: "provider", Text: visible.ScreenLine(got.Provider + ": no assistant with a key"), Do: "set the key on the page, under Assistants"}
	case got.Outcome != "" && !got.Connected:
		return finding{What: "provider", Text: visible.ScreenLine(fmt.Sprintf("%s, model %s: the last call came to %s", got.Provider, got.Model, got.Outcome))}
	}
	return finding{What: "provider", OK: true, Text: visible.ScreenLine(fmt.Sprintf("%s, model %s", got.Provider, got.Model))}
}

// examineFolder looks at the data folder: its owner, its mode, and whether it can be written.
func (a *app) examineFolder() finding {
	f := finding{What: "data"}
	info, err := os.Stat(a.global.data)
	switch {
	case errors.Is(err, os.ErrNotExist):
		f.OK, f.Text = true, a.global.data+" is made at the first start"
		return f
	case err != nil:
		f.Text = err.Error()
		return f
	case !info.IsDir():
		f.Text, f.Do = a.global.data+" is no folder", "name another one with --data"
		return f
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		f.Text, f.Do = fmt.Sprintf("%s can be read by others (%v)", a.global.data, info.Mode().Perm()), "chmod 700 "+visible.Word(a.global.data)
		return f
	}
	probe, err := os.CreateTemp(a.global.data, ".doctor.new-")
	if err != nil {
		f.Text, f.Do = err.Error(), "make the folder writable for you"
		return f
	}
	_, err = probe.Write(make([]byte, 64<<10))
	err = errors.Join(err, probe.Sync(), probe.Close(), os.Remove(probe.Name()))
	if err != nil {
		f.Text, f.Do = err.Error(), "make room on its disk"
		return f
	}
	f.OK, f.Text = true, a.global.data+" can be written"
	if whole, err := filepath.Abs(a.global.data); err == nil {
		f.Text = whole + " can be written"
	}
	return f
}

// examinePort looks whether the usual address is free.
func examinePort(ctx context.Context) finding {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", usualAddress)
	if err != nil {
		return finding{What: "port", Text: err.Error(), Do: "choose another one: piloto up --addr 127.0.0.1:9080"}
	}
	_ = l.Close()
	return finding{What: "port", OK: true, Text: usualAddress + " is free"}
}

// examineDeployment asks a deployment how it is, and compares its clock and its version with this command.
func (a *app) examineDeployment(ctx context.Context, c *client.Client) []finding {
	within, cancel := context.WithTimeout(ctx, askProvider)
	defer cancel()
	health, date, err := c.Health(within)
	if err != nil {
		return []finding{{What: "health", Text: a.worded(err).Error(), Do: "is the address right, and can this machine reach it?"}}
	}
	list := []finding{{What: "health", OK: health.Status == "ok", Text: c.Origin + ": " + a.healthText(health)}}
	if health.Version != Version {
		list = append(list, finding{What: "version", Text: fmt.Sprintf("%s has %s, and this command is %s", c.Origin, visible.Line(health.Version), Version), Do: "use the same version on both sides"})
	}
	if !date.IsZero() {
		skew := time.Since(date).Round(time.Second)
		f := finding{What: "clock", OK: skew.Abs() <= mostSkew, Text: fmt.Sprintf("%v from that of %s", skew, c.Origin)}
		if !f.OK {
			f.Do = "set the clock of this machine, such as by NTP"
		}
		list = append(list, f)
	}
	if _, err := client.Get[httpapi.ServerList](within, c, "/api/mcps", nil); err != nil {
		list = append(list, finding{What: "token", Text: a.worded(err).Error(), Do: "piloto login"})
	}
	return list
}

func (a *app) healthText(h httpapi.Health) string {
	text := a.word("cli.health.", h.Status)
	for _, name := range slices.Sorted(maps.Keys(h.Checks)) {
		if state := h.Checks[name]; state != "ok" {
			text += ", " + name + ": " + a.word("cli.health.", state)
		}
	}
	return visible.ScreenLine(text)
}

// examineProvider asks the provider of models of this machine whether it answers, and whether it takes the key.
func (a *app) examineProvider(ctx context.Context) []finding {
	s, err := process.SettingsFrom(a.getenv)
	if err != nil {
		return []finding{{What: "settings", Text: err.Error()}}
	}
	p := s.Provider()
	if p.BaseURL == "" {
		return []finding{{What: "provider", OK: true, Text: "the demonstration model", Do: "set OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL) for a real one"}}
	}
	within, cancel := context.WithTimeout(ctx, askProvider)
	defer cancel()
	request, err := http.NewRequestWithContext(within, http.MethodGet, strings.TrimRight(p.BaseURL, "/")+"/models", http.NoBody)
	if err != nil {
		return []finding{{What: "provider", Text: err.Error(), Do: "mend OPENAI_BASE_URL"}}
	}
	if p.Key != "" {
		request.Header.Set("Authorization", "Bearer "+p.Key.Reveal())
	}
	direct := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // the key goes nowhere else
	answer, err := direct.Do(request)
	if err != nil {
		return []finding{{What: "provider", Text: p.BaseURL + ": " + err.Error(), Do: "is the address right, and can this machine reach it?"}}
	}
	_ = answer.Body.Close()
	switch {
	case meaning.WantsKey(answer.StatusCode):
		return []finding{{What: "provider", Text: fmt.Sprintf("%s refuses the key (%d)", p.BaseURL, answer.StatusCode), Do: "set another key"}}
	case meaning.Passes(answer.StatusCode, false):
		return []finding{{What: "provider", Text: fmt.Sprintf("%s answers %d", p.BaseURL, answer.StatusCode), Do: "try again later, or use another provider"}}
	}
	return []finding{{What: "provider", OK: true, Text: fmt.Sprintf("%s answers, model %s", p.BaseURL, p.Model)}}
}
