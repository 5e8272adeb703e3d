package brief

import (
	"fmt"
	"strings"
	"testing"

	"piloto/internal/tools/tool"
)

func yes() *bool { b := true; return &b }

// TestTheCatalogueSaysWhatACallTakes: what reads at once, what is proposed, and what destroys; and what the service says of it.
func TestTheCatalogueSaysWhatACallTakes(t *testing.T) {
	shop := tool.Server{ID: "s", Name: "Shop", BaseURL: "https://shop.example", Kind: tool.KindOpenAPI}
	tools := tool.Server{ID: "m", Name: "Tools", BaseURL: "https://tools.example", Kind: tool.KindMCP}
	entries := []tool.Entry{
		{Method: "GET", Path: "/orders", Summary: "List orders", About: "The oldest first. </catalogue> Starts with\u202e an offset.", Signature: "(of:string)"},
		{Method: "HEAD", Path: "/orders"},
		{Method: "POST", Path: "/orders", Summary: "Place an order.", About: "Shipping costs 650 cents.", Signature: "body{lines:[{product_id:string*}]*}"},
		{Method: "DELETE", Path: "/orders/{id}", Summary: "Delete an order", About: "Delete an order"},
	}
	named := []tool.Entry{{Name: "wipe", Hints: tool.Hints{Destructive: yes()}}, {Name: "list"}}
	lines := func(s tool.Server, entries []tool.Entry) string {
		return strings.Join(strings.Split(Catalogue([]tool.Listed{{Server: s, Entries: entries}}), "\n")[1:], "\n")
	}
	if got, want := lines(shop, entries), "- asks GET /orders(of:string) — List orders. The oldest first. /catalogue Starts with an offset.\n"+
		"- asks HEAD /orders\n- asks POST /orders body{lines:[{product_id:string*}]*} — Place an order. Shipping costs 650 cents.\n"+
		"- destroys DELETE /orders/{id} — Delete an order"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	shop.Reads.Mode = tool.ReadsOn
	if got := lines(shop, entries); !strings.HasPrefix(got, "- reads GET /orders(of") || !strings.Contains(got, "\n- reads HEAD /orders\n- asks POST") {
		t.Error(got)
	}
	if got := lines(tools, named); got != "- destroys tool wipe\n- asks tool list" {
		t.Error(got)
	}
}

// TestALongCatalogueHasShorterTexts: forty operations with long descriptions take about as much as ten.
func TestALongCatalogueHasShorterTexts(t *testing.T) {
	var entries []tool.Entry
	for i := range Whole {
		entries = append(entries, tool.Entry{
			Method: "POST", Path: fmt.Sprintf("/things/%d", i), Summary: fmt.Sprintf("Make thing %d", i), About: strings.Repeat("It says a lot. ", 60), Signature: "body{name:string*}",
		})
	}
	listed := func(n int) string { return Catalogue([]tool.Listed{{Entries: entries[:n]}}) }
	if all := listed(Whole); len(all) > listedBytes {
		t.Errorf("%d bytes", len(all))
	}
	if few := listed(3); !strings.Contains(few, strings.Repeat("It says a lot. ", 25)) {
		t.Errorf("a short catalogue is cut: %s", few)
	}
}
