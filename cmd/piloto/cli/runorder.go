package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"piloto/cmd/piloto/client"
	"piloto/internal/chats/agent"
	"piloto/internal/edge/httpapi"
)

// check refuses bounds that no job has.
func (w work) check(prompt string) error {
	switch {
	case strings.TrimSpace(prompt) == "":
		return usage(errors.New("the prompt is empty"))
	case w.steps < 0 || w.steps > 200:
		return usage(fmt.Errorf("--max-steps %d: write 1 to 200", w.steps))
	case !(w.budget >= 0 && w.budget <= 1e6): // NaN is neither
		return usage(fmt.Errorf("--budget %v: write US dollars, such as 0.50", w.budget))
	case w.timeout < 0 || w.timeout > 7*24*time.Hour || w.timeout > 0 && w.timeout < time.Second:
		return usage(fmt.Errorf("--timeout %v: write 1s to 168h", w.timeout))
	case w.mode != "" && w.mode != "confirm-all" && w.mode != "confirm-sensitive" && w.mode != "yolo":
		return usage(fmt.Errorf("--mode %s: write confirm-all, confirm-sensitive or yolo", w.mode))
	case w.eval != "" && w.eval != "off" && w.eval != "basic" && w.eval != "full":
		return usage(fmt.Errorf("--self-eval %s: write off, basic or full", w.eval))
	}
	return nil
}

// order returns the body that starts the job.
func (w work) order(ctx context.Context, c *client.Client, prompt string) (httpapi.JobRequest, error) {
	o := httpapi.JobRequest{
		Prompt: prompt, ChatID: w.chat, BudgetMicros: int64(w.budget*1e6 + 0.5), MaxSteps: w.steps, TimeoutS: int(w.timeout / time.Second), Eval: w.eval, DryRun: w.dry,
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
