package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/account"
	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/cli/usage"
	"piloto/cmd/piloto/client"
	"piloto/infra/local/process"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/neterr"
	"piloto/internal/ground/version"
	"piloto/internal/ground/visible"
	"piloto/internal/models/credit"
)

// The limits of good findings.
const (
	mostSkew    = 30 * time.Second // of the clock; signatures allow five minutes
	askProvider = 10 * time.Second
)

// finding is a finding of doctor about one part.
type finding struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Text string `json:"found"`
	Do   string `json:"do,omitempty"` // the next action
}

// doctor examines this machine, its data folder and its deployment.
type doctor struct {
	con        *console.Console
	deployment *reach.Deployment
	folders    *reach.Folders
}

// commands returns the commands of the group.
func (g *doctor) commands() []*cobra.Command {
	return []*cobra.Command{g.doctorCommand()}
}

func (g *doctor) doctorCommand() *cobra.Command {
	var provider, model string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look at ports, data folder, keys, provider, clock and versions, and say what to do", Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list []finding
			switch {
			case provider != "":
				var err error
				if list, err = g.check(cmd.Context(), provider, model); err != nil {
					return err
				}
			case model != "":
				return ending.Miswritten(ending.Refusal("cli.doctor.which_provider"))
			default:
				list = g.examine(cmd.Context())
			}
			bad := false
			for _, f := range list {
				bad = bad || !f.OK
			}
			if g.con.JSON {
				if err := g.con.PrintJSON(map[string]any{"findings": list}); err != nil {
					return err
				}
			} else {
				for _, f := range list {
					state := g.con.Text("cli.doctor.bad")
					if f.OK {
						state = g.con.Text("cli.doctor.ok")
					}
					fmt.Fprintf(g.con.Out, "%-4s %-10s %s\n", state, g.con.Word("cli.doctor.what.", f.What), f.Text)
					if f.Do != "" {
						fmt.Fprintf(g.con.Out, "     %-10s → %s\n", "", f.Do)
					}
				}
			}
			if bad {
				return ending.Refusal("cli.doctor.found")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&provider, "provider", "", "the `name` of a provider: only find out what its model takes, with five small calls that are paid")
	cmd.Flags().StringVar(&model, "model", "", "the `model` that --provider calls; without it the one of an assistant")
	return cmd
}

// examine makes all checks.
func (g *doctor) examine(ctx context.Context) []finding {
	list := []finding{{What: "version", OK: true, Text: fmt.Sprintf("%s, %s, %s/%s", version.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH)}}
	data, err := g.folders.DataFolder()
	running := false
	if err != nil {
		list = append(list, finding{What: "data", Text: g.con.Worded(err).Error()})
	} else {
		folder := g.examineFolder(ctx)
		var more []finding
		more, running = g.examineProcess(ctx, data, folder.OK)
		list = append(append(list, folder), more...)
	}
	if !running { // a process has the provider of its own start
		list = append(list, g.examineProvider(ctx)...)
	}
	if to, err := g.deployment.Target(); err != nil {
		list = append(list, finding{What: "login", Text: g.con.Worded(err).Error()})
	} else if to.Origin != reach.Here {
		list = append(list, g.examineDeployment(ctx, client.New(to, string(g.con.Tag)))...)
	}
	return list
}

// examineProcess checks the process that has the data folder, and reports whether there is one. It advises to start one where the
// folder is usable.
func (g *doctor) examineProcess(ctx context.Context, data string, usable bool) (list []finding, running bool) {
	at, err := process.Find(ctx, data)
	switch {
	case err == nil:
		list = append(list, finding{What: "process", OK: true, Text: g.con.Text("cli.doctor.runs", "url", at.Origin)})
		c := client.New(client.Target{Origin: at.Origin, Token: at.Token}, string(g.con.Tag))
		list = append(append(list, g.examineDeployment(ctx, c)...), g.examineStatus(ctx, c))
	case errors.Is(err, process.ErrNoProcess):
		none := finding{What: "process", OK: true, Text: g.con.Text("cli.doctor.none")}
		if usable {
			none.Do = g.con.Text("cli.doctor.start", "folder", data)
		}
		list = append(list, none, g.examinePort(ctx))
	default:
		list = append(list, finding{What: "process", Text: g.con.Worded(err).Error()})
	}
	return list, err == nil
}

// examineStatus asks a process which model answers there.
func (g *doctor) examineStatus(ctx context.Context, c *client.Client) finding {
	got, err := client.Get[httpapi.AIStatus](ctx, c, "/ai/status", nil)
	switch {
	case err != nil:
		return finding{What: "provider", Text: g.con.Worded(err).Error()}
	case !got.Configured:
		return finding{What: "provider", Text: g.con.Text("cli.doctor.no_key", "provider", got.Provider), Do: g.con.Text("cli.doctor.set_key")}
	case got.Outcome != "" && !got.Connected:
		return finding{What: "provider", Text: g.con.Text("cli.doctor.last_call", "provider", got.Provider, "model", got.Model, "outcome", got.Outcome)}
	}
	f := finding{What: "provider", OK: true, Text: g.con.Text("cli.doctor.model", "provider", got.Provider, "model", got.Model)}
	if got.Priced == credit.PricedByList || got.Priced == credit.PricedByRule {
		f.Text += "; " + g.con.Text("cli.doctor.priced."+got.Priced)
	}
	return f
}

// examineFolder checks the data folder: its owner, its mode, and whether it can be written.
func (g *doctor) examineFolder(ctx context.Context) finding {
	f := finding{What: "data"}
	info, err := os.Stat(g.folders.Data)
	switch {
	case errors.Is(err, os.ErrNotExist):
		f.OK, f.Text = true, g.con.Text("cli.doctor.not_yet", "folder", g.folders.Data)
		return f
	case err != nil:
		f.Text = g.con.Told(err)
		return f
	case !info.IsDir():
		f.Text, f.Do = g.con.Text("cli.doctor.no_folder", "folder", g.folders.Data), g.con.Text("cli.doctor.name_another")
		return f
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		f.Text, f.Do = g.con.Text("cli.doctor.readable", "folder", g.folders.Data, "mode", info.Mode().Perm().String()), "chmod 700 "+visible.Word(g.folders.Data)
		return f
	}
	if err := process.CheckFormat(ctx, g.folders.Data); err != nil {
		f.Text = g.con.Told(err)
		return f
	}
	probe, err := os.CreateTemp(g.folders.Data, ".doctor.new-")
	if err != nil {
		f.Text, f.Do = g.con.Told(err), g.con.Text("cli.doctor.make_writable")
		return f
	}
	_, err = probe.Write(make([]byte, 64<<10))
	err = errors.Join(err, probe.Sync(), probe.Close(), os.Remove(probe.Name()))
	if err != nil {
		f.Text, f.Do = g.con.Told(err), g.con.Text("cli.doctor.make_room")
		return f
	}
	folder := g.folders.Data
	if whole, err := filepath.Abs(folder); err == nil {
		folder = whole
	}
	f.OK, f.Text = true, g.con.Text("cli.doctor.writable", "folder", folder)
	return f
}

// examinePort checks whether the usual address is free.
func (g *doctor) examinePort(ctx context.Context) finding {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", reach.UsualAddress)
	if err != nil {
		return finding{What: "port", Text: g.con.Text("cli.doctor.port_taken", "addr", reach.UsualAddress), Do: g.con.Text("cli.doctor.another_port")}
	}
	_ = l.Close()
	return finding{What: "port", OK: true, Text: g.con.Text("cli.doctor.port_free", "addr", reach.UsualAddress)}
}

// examineDeployment asks a deployment how it is, and compares its clock and its version with this command.
func (g *doctor) examineDeployment(ctx context.Context, c *client.Client) []finding {
	within, cancel := context.WithTimeout(ctx, askProvider)
	defer cancel()
	health, date, err := c.Health(within)
	if err != nil {
		return []finding{{What: "health", Text: g.con.Worded(err).Error(), Do: g.con.Text("cli.doctor.reach")}}
	}
	list := []finding{{What: "health", OK: health.Status == "ok", Text: c.Origin + ": " + account.HealthText(g.con, health)}}
	if here := version.String(); health.Version != here {
		list = append(list, finding{What: "version", Text: g.con.Text("cli.doctor.versions", "url", c.Origin, "there", health.Version, "here", here), Do: g.con.Text("cli.doctor.same_version")})
	}
	if !date.IsZero() {
		skew := time.Since(date).Round(time.Second)
		f := finding{What: "clock", OK: skew.Abs() <= mostSkew, Text: g.con.Text("cli.doctor.skew", "skew", skew.String(), "url", c.Origin)}
		if !f.OK {
			f.Do = g.con.Text("cli.doctor.set_clock")
		}
		list = append(list, f)
	}
	if _, err := client.Get[httpapi.ServerList](within, c, "/api/mcps", nil); err != nil {
		list = append(list, finding{What: "token", Text: g.con.Worded(err).Error(), Do: g.con.Text("cli.login_hint")})
	}
	return list
}

// examineProvider asks the provider of models of this machine whether it answers, and whether it takes the key.
func (g *doctor) examineProvider(ctx context.Context) []finding {
	s, err := process.SettingsFrom(g.con.Getenv)
	if err != nil {
		return []finding{{What: "settings", Text: g.con.Told(err)}}
	}
	p := s.Provider()
	if p.BaseURL == "" {
		return []finding{{What: "provider", OK: true, Text: g.con.Text("cli.doctor.demo"), Do: g.con.Text("cli.doctor.real_one")}}
	}
	within, cancel := context.WithTimeout(ctx, askProvider)
	defer cancel()
	request, err := http.NewRequestWithContext(within, http.MethodGet, strings.TrimRight(p.BaseURL, "/")+"/models", http.NoBody)
	if err != nil {
		return []finding{{What: "provider", Text: g.con.Told(err), Do: g.con.Text("cli.doctor.mend_url")}}
	}
	if p.Key != "" {
		request.Header.Set("Authorization", "Bearer "+p.Key.Reveal())
	}
	direct := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // the key goes nowhere else
	answer, err := direct.Do(request)
	if err != nil {
		return []finding{{What: "provider", Text: g.con.Text("cli.doctor.silent", "url", p.BaseURL, "why", g.con.Text("cli.lost.why."+neterr.Reason(err))), Do: g.con.Text("cli.doctor.reach")}}
	}
	_ = answer.Body.Close()
	switch {
	case meaning.WantsKey(answer.StatusCode):
		return []finding{{What: "provider", Text: g.con.Text("cli.doctor.key_refused", "url", p.BaseURL, "status", fmt.Sprint(answer.StatusCode)), Do: g.con.Text("cli.doctor.another_key")}}
	case meaning.Passes(answer.StatusCode, false):
		return []finding{{What: "provider", Text: g.con.Text("cli.doctor.answers_status", "url", p.BaseURL, "status", fmt.Sprint(answer.StatusCode)), Do: g.con.Text("cli.doctor.later")}}
	}
	return []finding{{What: "provider", OK: true, Text: g.con.Text("cli.doctor.answers", "url", p.BaseURL, "model", p.Model)}}
}
