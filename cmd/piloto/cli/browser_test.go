package cli

import (
	"slices"
	"testing"
)

// TestPageOpensOnlyWhereAPersonSits has the signs of a desktop, and each sign that nobody sits there.
func TestPageOpensOnlyWhereAPersonSits(t *testing.T) {
	desktop := map[string]string{"DISPLAY": ":0"}
	for name, c := range map[string]struct {
		system string
		env    map[string]string
		file   string
		want   []string
	}{
		"x11":        {"linux", desktop, "", []string{"xdg-open"}},
		"wayland":    {"linux", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, "", []string{"xdg-open"}},
		"bsd":        {"freebsd", desktop, "", []string{"xdg-open"}},
		"macos":      {"darwin", nil, "", []string{"open"}},
		"windows":    {"windows", nil, "", []string{"rundll32", "url.dll,FileProtocolHandler"}},
		"no display": {"linux", nil, "", nil},
		"ssh":        {"linux", map[string]string{"DISPLAY": "localhost:10.0", "SSH_CONNECTION": "10.0.0.2 50000 10.0.0.1 22"}, "", nil},
		"ssh, macos": {"darwin", map[string]string{"SSH_TTY": "/dev/ttys001"}, "", nil},
		"ci":         {"windows", map[string]string{"CI": "true"}, "", nil},
		"docker":     {"linux", desktop, "/.dockerenv", nil},
		"podman":     {"linux", desktop, "/run/.containerenv", nil},
		"asked for":  {"linux", map[string]string{"PILOTO_OPEN": "1", "SSH_TTY": "/dev/pts/1"}, "/.dockerenv", []string{"xdg-open"}},
		"nspawn":     {"linux", map[string]string{"DISPLAY": ":0", "container": "systemd-nspawn"}, "", nil},
		"kubernetes": {"linux", map[string]string{"DISPLAY": ":0", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "", nil},
	} {
		a, _, _ := newApp(c.env, "")
		if got := a.machine.opener(c.system, func(file string) bool { return file == c.file }); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}

func TestAdviceNamesTheCommandAsItWasCalled(t *testing.T) {
	for name, want := range map[string]string{
		"piloto": "piloto", "bin/piloto": "bin/piloto", "/opt/my tools/piloto": "'/opt/my tools/piloto'", "piloto.exe": "piloto",
	} {
		if got := called(name); got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
	}
}
