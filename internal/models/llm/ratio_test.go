package llm_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"piloto/internal/models/llm"
)

// asked returns a request of that many characters.
func asked(chars int) llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.User, Content: strings.Repeat("ñ", chars)}}}
}

// TestTheRatioOfAModelIsThatOfItsUsage: each model has its own, which comes near what its answers show, within bounds.
func TestTheRatioOfAModelIsThatOfItsUsage(t *testing.T) {
	for name, c := range map[string]struct {
		chars int
		usage llm.Usage
		first float64 // after one answer
		last  float64 // after ten
	}{
		"characters, not bytes":         {8_000, llm.Usage{Input: 4_000}, 2.75, 2},
		"what was cached counts":        {10_000, llm.Usage{Input: 2_000, Cached: 1_900}, 4.25, 5},
		"no more than six":              {90_000, llm.Usage{Input: 300}, 4.75, 6},
		"no fewer than four fifths":     {300, llm.Usage{Input: 90_000}, 2.15, 0.8},
		"a guess teaches nothing":       {8_000, llm.Usage{Input: 4_000, Estimated: true}, 3.5, 3.5},
		"no usage teaches nothing":      {8_000, llm.Usage{}, 3.5, 3.5},
		"a negative one neither":        {8_000, llm.Usage{Input: -4_000}, 3.5, 3.5},
		"a small request is all frames": {4, llm.Usage{Input: 60}, 3.5, 3.5},
	} {
		t.Run(name, func(t *testing.T) {
			var ratios llm.Ratios
			for n := range 10 {
				ratios.Learn("m", asked(c.chars), c.usage)
				if got := ratios.Of("m"); n == 0 && math.Abs(got-c.first) > 0.001 {
					t.Errorf("%.3f after one answer, not %.3f", got, c.first)
				}
			}
			if got := ratios.Of("m"); math.Abs(got-c.last) > 0.01 {
				t.Errorf("%.3f, not %.3f", got, c.last)
			}
			if got := ratios.Of("another"); got != llm.FirstRatio {
				t.Errorf("another model has %.3f", got)
			}
		})
	}
}

// TestEveryTextOfARequestIsInItsRatio: tools, calls and a format are read by the model, too.
func TestEveryTextOfARequestIsInItsRatio(t *testing.T) {
	text := strings.Repeat("a", 4_000)
	schema := json.RawMessage(`"` + text[2:] + `"`)
	for name, r := range map[string]llm.Request{
		"a call":   {Messages: []llm.Message{{Calls: []llm.Call{{Arguments: text}}}}},
		"a tool":   {Tools: []llm.Tool{{Parameters: schema}}},
		"a format": {Format: &llm.Format{Schema: schema}, Tools: []llm.Tool{{Description: text}}},
	} {
		var ratios llm.Ratios
		if ratios.Learn("m", r, llm.Usage{Input: 800}); ratios.Of("m") != (llm.FirstRatio+5)/2 {
			t.Errorf("%s: %.3f", name, ratios.Of("m"))
		}
	}
}

// TestRatiosOfManyModelsAreBounded, whoever learns at once.
func TestRatiosOfManyModelsAreBounded(t *testing.T) {
	var ratios llm.Ratios
	var all sync.WaitGroup
	for n := range 600 {
		all.Go(func() { ratios.Learn(fmt.Sprint(n), asked(2_000), llm.Usage{Input: 1_000}) })
	}
	all.Wait()
	known := 0
	for n := range 600 {
		if ratios.Of(fmt.Sprint(n)) != llm.FirstRatio {
			known++
		}
	}
	if known == 0 || known > 256 {
		t.Errorf("%d models are known", known)
	}
}
