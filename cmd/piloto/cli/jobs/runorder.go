package jobs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/settings"
	"piloto/cmd/piloto/client"
	"piloto/internal/chats/agent"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/visible"
)

// check refuses bounds that no job has, and names each by its origin. A bound that is given is not 0: that stands for the agent's.
func (w work) check(prompt string, origin func(flag string) string, given func(flag string) bool) error {
	switch {
	case visible.Blank(prompt):
		return ending.Miswritten(ending.Refusal("cli.wrong.prompt"))
	case w.steps < 0 || w.steps > 200 || w.steps == 0 && given("max-steps"):
		return ending.Miswritten(ending.Refusal("cli.wrong.steps", "name", origin("max-steps"), "value", strconv.Itoa(w.steps)))
	case !(w.budget >= 0 && w.budget <= 1e6) || w.budget == 0 && given("budget"): // NaN is neither
		return ending.Miswritten(ending.Refusal("cli.wrong.budget", "name", origin("budget"), "value", fmt.Sprint(w.budget)))
	case w.timeout < 0 || w.timeout > 7*24*time.Hour || w.timeout < time.Second && given("timeout"):
		return ending.Miswritten(ending.Refusal("cli.wrong.timeout", "name", origin("timeout"), "value", w.timeout.String()))
	case w.mode != "" && w.mode != "confirm-all" && w.mode != "confirm-sensitive" && w.mode != "yolo":
		return ending.Miswritten(ending.Refusal("cli.wrong.mode", "name", origin("mode"), "value", w.mode))
	case w.eval != "" && w.eval != "off" && w.eval != "basic" && w.eval != "full":
		return ending.Miswritten(ending.Refusal("cli.wrong.eval", "name", origin("self-eval"), "value", w.eval))
	}
	return nil
}

// micros returns the budget in millionths of a US dollar.
func (w work) micros() int64 { return int64(w.budget*1e6 + 0.5) }

// order returns the body that starts the job.
func (w work) order(ctx context.Context, c *client.Client, prompt string) (httpapi.JobRequest, error) {
	o := httpapi.JobRequest{
		Prompt: prompt, ChatID: w.chat, BudgetMicros: w.micros(), MaxSteps: w.steps, TimeoutS: int(w.timeout / time.Second), Eval: w.eval, DryRun: w.dry,
		Mode: w.mode, Cache: w.cache, TimeZone: client.Zone(),
	}
	if w.noMCP {
		o.Servers = &[]string{}
	}
	if w.model == "" {
		return o, nil
	}
	provider, model, both := strings.Cut(w.model, "/")
	if !both {
		who, err := client.Get[httpapi.Eligibility](ctx, c, "/ai/eligibility", nil)
		if err != nil {
			return o, err
		}
		provider, model = who.Provider, w.model
	}
	o.Assistant = &agent.Assistant{Provider: provider, Model: model}
	return o, nil
}

// narrow takes back the bounds of a piloto.yaml that nobody named which are not below those of the agent.
func (g *Group) narrow(ctx context.Context, c *client.Client, w *work) error {
	if len(g.Config.Unnamed) == 0 {
		return nil
	}
	as, err := client.Get[httpapi.AgentView](ctx, c, client.Path("api", "agents", w.agent), nil)
	if err != nil {
		return err
	}
	var ignored []string
	for _, name := range g.Config.Unnamed {
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
	g.Config.TellIgnored(settings.DefaultFile, ignored)
	return nil
}

// strictness orders the modes by how much asks.
func strictness(m agent.Mode) int {
	return max(0, slices.Index([]agent.Mode{agent.Yolo, agent.ConfirmSensitive, agent.ConfirmAll}, m))
}
