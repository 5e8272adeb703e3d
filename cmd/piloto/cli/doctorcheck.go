package cli

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"piloto/cmd/piloto/client"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/retry"
	"piloto/internal/ground/visible"
	"piloto/internal/models/eligibility"
)

// checkPause is between two reads of a check.
const checkPause = time.Second

// check has a provider checked, and returns what was found once it has ended.
func (g *doctor) check(ctx context.Context, provider, model string) (list []finding, err error) {
	err = g.deployment.Connect(ctx, func(ctx context.Context, c *client.Client) error {
		g.con.Report("cli.doctor.checking", "provider", provider)
		path := client.Path("ai", "providers", provider)
		got, err := client.Send[httpapi.Provider](ctx, c, client.Call{
			Method: http.MethodPost, Path: path + "/check", Body: httpapi.ProviderCheckRequest{Model: model}, Repeat: true, // while it runs no other begins
		})
		for err == nil && got.Check != nil && got.Check.Status == eligibility.CheckRunning {
			if err = retry.Wait(ctx, checkPause); err == nil {
				got, err = client.Get[httpapi.Provider](ctx, c, path, nil)
			}
		}
		if err == nil {
			list = g.checked(got)
		}
		return err
	})
	return list, err
}

// checked returns the findings of a check that has ended.
func (g *doctor) checked(p httpapi.Provider) []finding {
	if p.Check == nil { // the provider was set anew meanwhile
		return []finding{{What: "provider", Text: g.con.Text("cli.doctor.unchecked", "provider", p.Name)}}
	}
	if p.Check.Status != eligibility.CheckDone {
		return []finding{{What: "provider", Text: visible.Line(p.Check.Message), Do: visible.Line(p.Check.Action)}}
	}
	usd := strconv.FormatFloat(float64(p.Check.Micros)/1e6, 'f', -1, 64)
	list := []finding{{What: "provider", OK: true, Text: g.con.Text("cli.doctor.checked", "provider", p.Name, "model", p.Check.Model, "usd", usd)}}
	for _, f := range p.Check.Findings {
		list = append(list, finding{What: "provider", OK: true, Text: visible.Line(f.Text)})
	}
	return list
}
