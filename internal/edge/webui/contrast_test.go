package webui

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

// TestTextKeepsItsContrast of 4.5 : 1 (WCAG 2.2 AA) on every background, in both schemes.
func TestTextKeepsItsContrast(t *testing.T) {
	css := string(loadAssets().files["app.css"].body)
	colours := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);`).FindAllStringSubmatch(css, -1) {
		colours[m[1]] = [2]string{m[2], m[3]}
	}
	colours["on-accent"] = [2]string{"#ffffff", "#ffffff"}
	grounds := []string{"ground", "surface", "raised", "sunken"}
	pairs := map[string][]string{
		"text": append(grounds, "accent-soft", "warn-soft", "bad-soft", "good-soft"), "text-2": append(grounds, "warn-soft", "bad-soft", "good-soft"),
		"surface": {"text", "text-2"}, "text-3": grounds,
		"accent": append(grounds, "accent-soft"), "good": append(grounds, "good-soft"), "warn": append(grounds, "warn-soft"),
		"bad": append(grounds, "bad-soft"), "info": append(grounds, "info-soft"), "on-accent": {"accent-fill", "accent-fill-2", "bad-fill"},
	}
	for text, on := range pairs {
		for _, ground := range on {
			for scheme, name := range []string{"light", "dark"} {
				a, b := colours[text][scheme], colours[ground][scheme]
				if a == "" || b == "" {
					t.Fatalf("no colour %s or %s", text, ground)
				}
				if c := contrast(a, b); c < 4.5 {
					t.Errorf("%s: %s %s on %s %s is %.2f : 1", name, text, a, ground, b, c)
				}
			}
		}
	}
}

func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (math.Max(x, y) + .05) / (math.Min(x, y) + .05)
}

func luminance(hex string) float64 {
	part := func(i int) float64 {
		n, err := strconv.ParseUint(hex[i:i+2], 16, 8)
		if err != nil {
			panic(err)
		}
		v := float64(n) / 255
		if v <= .04045 {
			return v / 12.92
		}
		return math.Pow((v+.055)/1.055, 2.4)
	}
	return .2126*part(1) + .7152*part(3) + .0722*part(5)
}
