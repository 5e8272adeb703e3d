package reach

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/private"
)

// Profiles are the deployments that login stored, in credentials.json of the configuration folder of the person.
type Profiles struct {
	Current string             `json:"current"`
	Known   map[string]Profile `json:"profiles"`
}

// Profile is a deployment, and the token of the person there.
type Profile struct {
	Origin string `json:"url"`
	Token  string `json:"token"`
	Live   string `json:"live,omitempty"` // wss://host of its socket, when that is not at URL; see client.LiveOrigin
}

// configFolder returns the folder of this command in the configuration of the person. It is never in the current folder,
// which may be somebody else's.
func (f *Folders) configFolder() (string, error) {
	folder := f.Con.Getenv("XDG_CONFIG_HOME")
	if folder == "" {
		var err error
		if folder, err = os.UserConfigDir(); err != nil {
			return "", errNoPlace
		}
	}
	if !filepath.IsAbs(folder) {
		return "", errNoPlace
	}
	return filepath.Join(folder, "piloto"), nil
}

// profileFile returns the path of the file.
func (d *Deployment) profileFile() (string, error) {
	folder, err := d.Folders.configFolder()
	return filepath.Join(folder, "credentials.json"), err
}

// ReadProfiles reads the stored deployments. A file that others can read is refused.
func (d *Deployment) ReadProfiles() (p Profiles, err error) {
	p.Known = map[string]Profile{}
	file, err := d.profileFile()
	if err != nil {
		return p, nil //nolint:nilerr // without a folder for them there are none
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return p, err
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return p, ending.Miswritten(ending.Refusal("cli.wrong.readable", "file", file))
	}
	if err := json.Unmarshal(text, &p); err != nil || p.Known == nil {
		return p, ending.Miswritten(ending.Refusal("cli.wrong.damaged", "file", file))
	}
	return p, nil
}

// WriteProfiles stores the deployments, whole or not at all, for their owner alone.
func (d *Deployment) WriteProfiles(p Profiles) error {
	file, err := d.profileFile()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return private.Write(file, append(text, '\n'))
}

// OriginOf checks the address of a deployment. A token is sent there, so other machines are reached by TLS alone.
func OriginOf(text string) (string, error) {
	u, err := url.Parse(strings.TrimRight(strings.TrimSpace(text), "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", ending.Miswritten(ending.Refusal("cli.wrong.address", "text", text))
	}
	switch {
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", ending.Miswritten(ending.Refusal("cli.wrong.plain_address"))
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return "", ending.Miswritten(ending.Refusal("cli.wrong.no_tls", "url", u.Redacted()))
	}
	return u.String(), nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
