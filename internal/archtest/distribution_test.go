package archtest

import (
	"strings"
	"testing"

	"piloto/internal/edge/gateway"
	"piloto/internal/edge/webui"
)

// TestTheDistributionAndTheCodeAgree on the header with the secret, on the paths of the files, and on who has the secret:
// the functions of the API and their authorizer. cfn-lint knows none of that.
func TestTheDistributionAndTheCodeAgree(t *testing.T) {
	config := find(rawResources(t)["PageDistribution"], "Properties", "DistributionConfig")
	if config == nil {
		t.Fatal("the template has no PageDistribution")
	}
	proved := false
	for _, origin := range sequence(find(config, "Origins")) {
		for _, header := range sequence(find(origin, "OriginCustomHeaders")) {
			proved = proved || find(origin, "Id").Value == "api" && strings.EqualFold(find(header, "HeaderName").Value, gateway.SecretHeader)
		}
	}
	if !proved {
		t.Errorf("the distribution does not send %s to the API", gateway.SecretHeader)
	}
	behaviors := sequence(find(config, "CacheBehaviors"))
	if len(behaviors) != 1 {
		t.Fatalf("%d behaviors: what is kept at the edges?", len(behaviors))
	}
	kept, _ := strings.CutSuffix(find(behaviors[0], "PathPattern").Value, "*")
	for path := range webui.Files() {
		if !strings.HasPrefix(path, kept) {
			t.Errorf("%s is not under %s, and costs an invocation each time", path, kept)
		}
	}
	tpl := readTemplate(t)
	for _, f := range tpl.Functions {
		serves := f.ID == tpl.API.Authorizer
		for _, r := range tpl.API.Routes {
			serves = serves || r.Function == f.ID
		}
		for _, name := range []string{"PAGE_DOMAIN", "EDGE_SECRET"} {
			if _, has := f.Environment[name]; has != serves {
				t.Errorf("%s has %s: %v; it serves the API: %v", f.ID, name, has, serves)
			}
		}
	}
}
