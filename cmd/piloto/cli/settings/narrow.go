package settings

import (
	"slices"
	"strings"
)

// The settings that count in a piloto.yaml of the current folder that nobody named, such as that of a fetched repository.
// It may narrow the work, and set the style of the output. All others decide where requests and secrets go, who works, which
// calls ask, which text is printed, or which files commands reach.
var (
	bounds = []string{"max-steps", "budget", "timeout", "mode"} // below those of the agent: narrow
	less   = []string{"dry-run", "no-commands", "allowed-only", "disable-mcp"}
	style  = []string{"lang", "no-color", "show-costs", "no-stream"}
)

// narrowing returns the settings of a file that count although nobody named it, and the keys of the others.
func narrowing(all map[string]setting) (kept map[string]setting, widening map[string]bool) {
	kept, widening = map[string]setting{}, map[string]bool{}
	for key, s := range all {
		if flag := strings.ReplaceAll(key, "_", "-"); slices.Contains(slices.Concat(bounds, less, style), flag) {
			kept[key] = s
			continue
		}
		widening[key] = true
	}
	return kept, widening
}

// TellIgnored says which settings of a file count only when the file is named, and how that is done.
func (cfg *Configuration) TellIgnored(file string, keys []string) {
	if len(keys) > 0 {
		cfg.Con.Report("cli.config.ignored", "file", file, "keys", strings.Join(keys, ", "), "command", cfg.Con.Again("-c", file))
	}
}
