package boot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWhatOneMachineSaysArrives(t *testing.T) {
	said := Local{
		AllowLoopback: true, AloneSince: time.Date(2026, 11, 20, 10, 15, 30, 123e6, time.UTC),
		Demo: true, DemoKey: "demo-key", Keyless: true, SocketPath: "/realtime",
	}
	w, err := World{}.placed(Environment{LocalVariable: said.String()})
	if err != nil {
		t.Fatal(err)
	}
	if !w.Local || !w.AllowLoopback || !w.Demo || w.DemoKey != "demo-key" || !w.Keyless || w.SocketPath != "/realtime" || !w.AloneSince.Equal(said.AloneSince) {
		t.Errorf("%+v", w)
	}
	if w, err = (World{}).placed(Environment{}); err != nil || w.Local || w.AllowLoopback || w.Demo || w.DemoKey != "" || w.Keyless || w.SocketPath != "" || !w.AloneSince.IsZero() {
		t.Errorf("without the variable: %+v, %v", w, err)
	}
	for _, wrong := range []string{"", "true", "{", `{"allow_private":true}`, "null", "{} {}", `{}x`, "[]"} {
		if _, err := (World{}).placed(Environment{LocalVariable: wrong}); err == nil || !strings.Contains(err.Error(), LocalVariable) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// TestNoDeploymentOnAWSSaysThatItIsOneMachine: the variable takes guards away.
func TestNoDeploymentOnAWSSaysThatItIsOneMachine(t *testing.T) {
	for _, file := range []string{"template.yaml", "samconfig.toml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), LocalVariable) {
			t.Errorf("%s sets %s", file, LocalVariable)
		}
	}
}
