package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/client"
	"piloto/internal/chats/agent"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/ref"
)

// check refuses bounds that no job has, and names each by its origin. A bound that is given is not 0: that stands for the agent's.
func (w work) check(prompt string, origin func(flag string) string, given func(flag string) bool) error {
	switch {
	case ref.Blank(prompt):
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
		Mode: w.mode, Cache: w.cache,
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
