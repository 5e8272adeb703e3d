package boot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheLocalVariableSetsTheWorld(t *testing.T) {
	said := Local{
		AllowLoopback: true, AloneSince: time.Date(2026, 11, 20, 10, 15, 30, 123e6, time.UTC),
		Demo: true, DemoKey: "demo-key", Keyless: true, SocketPath: "/realtime",
	}
	w, err := World{}.withLocal(Environment{LocalVariable: said.String()})
	if err != nil {
		t.Fatal(err)
	}
	if !w.Local || !w.AllowLoopback || !w.Demo || w.DemoKey != "demo-key" || !w.Keyless || w.SocketPath != "/realtime" || !w.AloneSince.Equal(said.AloneSince) {
		t.Errorf("%+v", w)
	}
	if w, err = (World{}).withLocal(Environment{}); err != nil || w.Local || w.AllowLoopback || w.Demo || w.DemoKey != "" || w.Keyless || w.SocketPath != "" || !w.AloneSince.IsZero() {
		t.Errorf("without the variable: %+v, %v", w, err)
	}
	for _, wrong := range []string{"", "true", "{", `{"allow_private":true}`, "null", "{} {}", `{}x`, "[]"} {
		if _, err := (World{}).withLocal(Environment{LocalVariable: wrong}); err == nil || !strings.Contains(err.Error(), LocalVariable) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// TestNoDeploymentOnAWSSetsTheLocalVariable: the variable removes guards.
func TestNoDeploymentOnAWSSetsTheLocalVariable(t *testing.T) {
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
