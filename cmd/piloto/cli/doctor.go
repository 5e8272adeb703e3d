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
	"piloto/internal/ground/neterr"
	"piloto/internal/ground/version"
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
					state := a.text("cli.doctor.bad")
					if f.OK {
						state = a.text("cli.doctor.ok")
					}
					fmt.Fprintf(a.out, "%-4s %-10s %s\n", state, a.word("cli.doctor.what.", f.What), f.Text)
					if f.Do != "" {
						fmt.Fprintf(a.out, "     %-10s → %s\n", "", f.Do)
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
	list := []finding{{What: "version", OK: true, Text: fmt.Sprintf("%s, %s, %s/%s", version.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH)}}
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
		list = append(list, finding{What: "process", OK: true, Text: a.text("cli.doctor.runs", "url", at.Origin)})
		c := client.New(at.Origin, at.Token, string(a.tag))
		list = append(append(list, a.examineDeployment(ctx, c)...), a.examineStatus(ctx, c))
	case errors.Is(err, process.ErrNoProcess):
		list = append(list, finding{What: "process", OK: true, Text: a.text("cli.doctor.none"), Do: a.text("cli.doctor.start", "folder", data)})
		list = append(list, a.examinePort(ctx))
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
		return finding{What: "provider", Text: a.text("cli.doctor.no_key", "provider", got.Provider), Do: a.text("cli.doctor.set_key")}
	case got.Outcome != "" && !got.Connected:
		return finding{What: "provider", Text: a.text("cli.doctor.last_call", "provider", got.Provider, "model", got.Model, "outcome", got.Outcome)}
	}
	return finding{What: "provider", OK: true, Text: a.text("cli.doctor.model", "provider", got.Provider, "model", got.Model)}
}

// examineFolder looks at the data folder: its owner, its mode, and whether it can be written.
func (a *app) examineFolder() finding {
	f := finding{What: "data"}
	info, err := os.Stat(a.global.data)
	switch {
	case errors.Is(err, os.ErrNotExist):
		f.OK, f.Text = true, a.text("cli.doctor.not_yet", "folder", a.global.data)
		return f
	case err != nil:
		f.Text = a.told(err)
		return f
	case !info.IsDir():
		f.Text, f.Do = a.text("cli.doctor.no_folder", "folder", a.global.data), a.text("cli.doctor.name_another")
		return f
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		f.Text, f.Do = a.text("cli.doctor.readable", "folder", a.global.data, "mode", info.Mode().Perm().String()), "chmod 700 "+visible.Word(a.global.data)
		return f
	}
	probe, err := os.CreateTemp(a.global.data, ".doctor.new-")
	if err != nil {
		f.Text, f.Do = a.told(err), a.text("cli.doctor.make_writable")
		return f
	}
	_, err = probe.Write(make([]byte, 64<<10))
	err = errors.Join(err, probe.Sync(), probe.Close(), os.Remove(probe.Name()))
	if err != nil {
		f.Text, f.Do = a.told(err), a.text("cli.doctor.make_room")
		return f
	}
	folder := a.global.data
	if whole, err := filepath.Abs(folder); err == nil {
		folder = whole
	}
	f.OK, f.Text = true, a.text("cli.doctor.writable", "folder", folder)
	return f
}

// examinePort looks whether the usual address is free.
func (a *app) examinePort(ctx context.Context) finding {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", usualAddress)
	if err != nil {
		return finding{What: "port", Text: a.text("cli.doctor.port_taken", "addr", usualAddress), Do: a.text("cli.doctor.another_port")}
	}
	_ = l.Close()
	return finding{What: "port", OK: true, Text: a.text("cli.doctor.port_free", "addr", usualAddress)}
}

// examineDeployment asks a deployment how it is, and compares its clock and its version with this command.
func (a *app) examineDeployment(ctx context.Context, c *client.Client) []finding {
	within, cancel := context.WithTimeout(ctx, askProvider)
	defer cancel()
	health, date, err := c.Health(within)
	if err != nil {
		return []finding{{What: "health", Text: a.worded(err).Error(), Do: a.text("cli.doctor.reach")}}
	}
	list := []finding{{What: "health", OK: health.Status == "ok", Text: c.Origin + ": " + a.healthText(health)}}
	if here := version.String(); health.Version != here {
		list = append(list, finding{What: "version", Text: a.text("cli.doctor.versions", "url", c.Origin, "there", health.Version, "here", here), Do: a.text("cli.doctor.same_version")})
	}
	if !date.IsZero() {
		skew := time.Since(date).Round(time.Second)
		f := finding{What: "clock", OK: skew.Abs() <= mostSkew, Text: a.text("cli.doctor.skew", "skew", skew.String(), "url", c.Origin)}
		if !f.OK {
			f.Do = a.text("cli.doctor.set_clock")
		}
		list = append(list, f)
	}
	if _, err := client.Get[httpapi.ServerList](within, c, "/api/mcps", nil); err != nil {
		list = append(list, finding{What: "token", Text: a.worded(err).Error(), Do: a.text("cli.login_hint")})
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
		return []finding{{What: "settings", Text: a.told(err)}}
	}
	p := s.Provider()
	if p.BaseURL == "" {
		return []finding{{What: "provider", OK: true, Text: a.text("cli.doctor.demo"), Do: a.text("cli.doctor.real_one")}}
	}
	within, cancel := context.WithTimeout(ctx, askProvider)
	defer cancel()
	request, err := http.NewRequestWithContext(within, http.MethodGet, strings.TrimRight(p.BaseURL, "/")+"/models", http.NoBody)
	if err != nil {
		return []finding{{What: "provider", Text: a.told(err), Do: a.text("cli.doctor.mend_url")}}
	}
	if p.Key != "" {
		request.Header.Set("Authorization", "Bearer "+p.Key.Reveal())
	}
	direct := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // the key goes nowhere else
	answer, err := direct.Do(request)
	if err != nil {
		return []finding{{What: "provider", Text: a.text("cli.doctor.silent", "url", p.BaseURL, "why", a.text("cli.lost.why."+neterr.Reason(err))), Do: a.text("cli.doctor.reach")}}
	}
	_ = answer.Body.Close()
	switch {
	case meaning.WantsKey(answer.StatusCode):
		return []finding{{What: "provider", Text: a.text("cli.doctor.key_refused", "url", p.BaseURL, "status", fmt.Sprint(answer.StatusCode)), Do: a.text("cli.doctor.another_key")}}
	case meaning.Passes(answer.StatusCode, false):
		return []finding{{What: "provider", Text: a.text("cli.doctor.answers_status", "url", p.BaseURL, "status", fmt.Sprint(answer.StatusCode)), Do: a.text("cli.doctor.later")}}
	}
	return []finding{{What: "provider", OK: true, Text: a.text("cli.doctor.answers", "url", p.BaseURL, "model", p.Model)}}
}
