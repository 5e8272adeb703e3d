package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"piloto/cmd/piloto/client"
	"piloto/internal/chats/agent"
	"piloto/internal/edge/httpapi"
)

// The settings that count in a piloto.yaml of the current folder that nobody named, such as that of a fetched repository.
// It may narrow the work, and set the looks. All others decide where requests and secrets go, who works, which calls ask,
// which text is printed, or which files commands reach.
var (
	bounds = []string{"max-steps", "budget", "timeout", "mode"} // below those of the agent: narrow
	less   = []string{"dry-run", "no-commands", "allowed-only", "disable-mcp"}
	looks  = []string{"lang", "no-color", "show-costs", "no-stream"}
)

// narrowing returns the settings of a file that count although nobody named it, and the keys of the others.
func narrowing(all map[string]setting) (kept map[string]setting, widening map[string]bool) {
	kept, widening = map[string]setting{}, map[string]bool{}
	for key, s := range all {
		if flag := strings.ReplaceAll(key, "_", "-"); slices.Contains(slices.Concat(bounds, less, looks), flag) {
			kept[key] = s
			continue
		}
		widening[key] = true
	}
	return kept, widening
}

// narrow takes back the bounds of a piloto.yaml that nobody named which are not below those of the agent.
func (cfg *configuration) narrow(ctx context.Context, c *client.Client, w *work) error {
	if len(cfg.unnamed) == 0 {
		return nil
	}
	as, err := client.Get[httpapi.AgentView](ctx, c, client.Path("api", "agents", w.agent), nil)
	if err != nil {
		return err
	}
	var ignored []string
	for _, name := range cfg.unnamed {
		ordered := 0 // how it stands to the agent's; above 0: it would widen
		switch name {
		case "max-steps":
			if ordered = w.steps - as.MaxSteps; ordered >= 0 {
				w.steps = 0
			}
		case "timeout":
			if ordered = int(w.timeout/time.Second) - as.TimeoutS; ordered >= 0 {
				w.timeout = 0
			}
		case "budget":
			if as.BudgetMicros == 0 {
				break
			}
			if ordered = int(w.micros() - as.BudgetMicros); ordered >= 0 {
				w.budget = 0
			}
		case "mode":
			if ordered = strictness(as.Mode) - strictness(agent.Mode(w.mode)); ordered >= 0 {
				w.mode = ""
			}
		}
		if ordered > 0 {
			ignored = append(ignored, strings.ReplaceAll(name, "-", "_"))
		}
	}
	cfg.tellIgnored(configFile, ignored)
	return nil
}

// strictness orders the modes by how much asks.
func strictness(m agent.Mode) int {
	return max(0, slices.Index([]agent.Mode{agent.Yolo, agent.ConfirmSensitive, agent.ConfirmAll}, m))
}

// tellIgnored says which settings of a file count only when the file is named, and how that is done.
func (cfg *configuration) tellIgnored(file string, keys []string) {
	if len(keys) > 0 {
		cfg.con.Report("cli.config.ignored", "file", file, "keys", strings.Join(keys, ", "), "command", cfg.con.Again("-c", file))
	}
}
