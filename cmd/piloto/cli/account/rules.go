package account

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/cli/runs"
	"piloto/cmd/piloto/cli/usage"
	"piloto/cmd/piloto/client"
	"piloto/internal/edge/httpapi"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
)

// Rules are the commands about the rules of an account.
type Rules struct {
	Con        *console.Console
	Deployment *reach.Deployment
	Runs       *runs.Group
}

// Commands returns the commands of the group.
func (g *Rules) Commands() []*cobra.Command {
	return []*cobra.Command{g.command()}
}

func (g *Rules) command() *cobra.Command {
	get := g.Deployment.Request(&cobra.Command{
		Use: "get", Short: "Print the account's rules as JSON, as set takes them", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		return g.Con.PrintAnswer(client.Get[httpapi.RuleSet](ctx, c, "/api/rules", nil))
	})
	var file string
	set := g.Deployment.Request(&cobra.Command{
		Use: "set -f FILE", Short: "Set the account's rules from a JSON file, which names the version that you read", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		body, err := g.ruleFile(file)
		if err != nil {
			return err
		}
		return g.Con.PrintAnswer(client.Send[httpapi.RuleSet](ctx, c, client.Call{Method: http.MethodPut, Path: "/api/rules", Body: body}))
	})
	set.Flags().StringVarP(&file, "file", "f", "-", "the `file`; - is stdin")
	return usage.Group(&cobra.Command{
		Use: "rules", Short: "What is denied, what asks for an approval, and what needs none",
	}, get, set, g.testCommand())
}

// ruleFile reads rules. The deployment refuses unknown members, so this reports them, too.
func (g *Rules) ruleFile(name string) (httpapi.RulesRequest, error) {
	var body httpapi.RulesRequest
	raw, err := g.Con.JSONFile(name)
	if err != nil {
		return body, err
	}
	var read httpapi.RuleSet // as get prints them
	if err := json.Unmarshal(raw, &read); err != nil {
		return body, ending.Miswritten(console.NotJSON(name, err))
	}
	body.Version = read.Version
	for _, r := range read.Rules {
		body.Rules = append(body.Rules, httpapi.RuleRequest(r))
	}
	return body, nil
}

// tried is the effect of rules on one step of a proposed plan.
type tried struct {
	RunID  string `json:"run_id"`
	StepID string `json:"step_id"`
	Call   string `json:"call"`
	Effect string `json:"effect"` // runs, asks or denied
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (g *Rules) testCommand() *cobra.Command {
	var file string
	var last int
	cmd := g.Deployment.Request(&cobra.Command{
		Use: "test -f FILE", Short: "Try a file of rules on the last proposals: what would run, would ask, would be denied", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		body, err := g.ruleFile(file)
		if err != nil {
			return err
		}
		set := rule.Set{}
		for i, r := range body.Rules {
			if r.ID == "" {
				r.ID = fmt.Sprintf("#%d", i+1)
			}
			set.Rules = append(set.Rules, rule.Rule(r))
		}
		if wrong := set.Check(); len(wrong) > 0 {
			return rule.ErrRules.At(wrong...)
		}
		list, err := g.try(ctx, c, set, last)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, t := range list {
			rows = append(rows, []string{g.Con.Text("cli.rule." + t.Effect), t.RunID, t.StepID, t.Call, t.Rule, t.Reason})
		}
		return g.Con.List(map[string]any{"steps": list}, []string{"cli.outcome", "cli.run", "cli.step", "cli.call", "cli.rule", "cli.reason"}, rows)
	})
	cmd.Flags().StringVarP(&file, "file", "f", "-", "the `file`; - is stdin")
	cmd.Flags().IntVar(&last, "last", 20, "how many proposals, 1 to 200")
	return cmd
}

// try judges the steps of the last plans by rules, as a turn would.
func (g *Rules) try(ctx context.Context, c *client.Client, set rule.Set, last int) ([]tried, error) {
	if last < 1 || last > 200 {
		return nil, ending.Miswritten(ending.Refusal("cli.wrong.steps", "name", "--last", "value", fmt.Sprint(last)))
	}
	page, err := client.Get[httpapi.RunList](ctx, c, "/api/runs", url.Values{"limit": {fmt.Sprint(last)}})
	if err != nil {
		return nil, err
	}
	var list []tried
	for _, summary := range page.Runs {
		r, err := g.Runs.ReadRun(ctx, c, summary.RunID)
		if err != nil {
			return nil, err
		}
		why := "" // a single step does not wait before it destroys something
		if len(r.Steps) > 1 {
			why = g.Con.Text("cli.rule.destroys")
		}
		for _, s := range r.Steps {
			step := plan.Step{MCPID: s.MCPID, Method: s.Method, Path: s.Path, Tool: s.Tool, Query: s.Query, Headers: s.Headers, Body: s.Body, Risk: s.Risk}
			t := tried{RunID: r.RunID, StepID: s.ID, Call: s.Method + " " + s.Path, Effect: "runs"}
			if s.Tool != "" {
				t.Call = s.Tool
			}
			asks, denied := set.AskFor(step, rule.CallOf(step, s.Server), why)
			switch {
			case denied != nil:
				t.Effect, t.Rule, t.Reason = "denied", denied.ID, denied.Reason
			case asks != nil:
				t.Effect, t.Rule, t.Reason = "asks", asks.Rule, asks.Reason
			}
			list = append(list, t)
		}
	}
	return list, nil
}
