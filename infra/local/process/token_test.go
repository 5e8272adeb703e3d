package process

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"piloto/internal/boot"
)

// TestInstallTokenDetectsFlippedBits flips one bit of every byte of the token files: the same token
// is installed, or none.
func TestInstallTokenDetectsFlippedBits(t *testing.T) {
	p, folder, _, _ := deploy(t, Settings{})
	install := func(set string) (string, error) {
		token, _, err := installToken(t.Context(), p.Stores.Access, folder, set, boot.Clock())
		return token, err
	}
	if err := os.Remove(filepath.Join(folder, installedFile)); err != nil {
		t.Fatal(err)
	}
	token, err := install("")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"token", installedFile} {
		path := filepath.Join(folder, name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range text {
			bad := []byte(string(text))
			bad[i] ^= 1 << (i % 8)
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := install(""); err == nil && got != token {
				t.Errorf("byte %d of %s: the token is another now", i, name)
			}
			if name == "token" && i < len(token) { // accepting it would revoke the real token
				if left, _ := os.ReadFile(filepath.Join(folder, installedFile)); !strings.Contains(string(left), " kept") {
					t.Errorf("byte %d: %s", i, left)
				}
			}
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := install(""); err == nil || !strings.Contains(said(err), path) {
			t.Errorf("%s is empty: %v", name, err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := install(""); err != nil || got != token {
		t.Errorf("as it was: %v", err)
	}
	// A configured token, no configured token any more, and a removed file are no damage.
	if _, err := install("a-token-that-is-set-by-a-person"); err != nil {
		t.Error(err)
	}
	if got, err := install(""); err != nil || got != token {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(folder, "token")); err != nil {
		t.Fatal(err)
	}
	if got, err := install(""); err != nil || got == token {
		t.Errorf("another was not made: %v", err)
	}
}

// TestTokenFilesMustBePrivate checks every file of the folder whose reader can act with it, also
// through a link of the folder.
func TestTokenFilesMustBePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it keeps no such modes")
	}
	p, _, _, _ := deploy(t, Settings{})
	for name, kept := range map[string]func(folder string) (string, error){
		"token": func(folder string) (string, error) {
			token, _, err := installToken(t.Context(), p.Stores.Access, folder, "", boot.Clock())
			return token, err
		},
		demoKeyFile: ensureDemoKey,
	} {
		folder := t.TempDir()
		file := filepath.Join(folder, name)
		made, err := kept(folder)
		if err != nil {
			t.Fatal(err)
		}
		elsewhere := filepath.Join(t.TempDir(), "kept")
		for _, linked := range []bool{false, true} {
			if linked {
				if err := errors.Join(os.Rename(file, elsewhere), os.Symlink(elsewhere, file)); err != nil {
					t.Fatal(err)
				}
			}
			for _, mode := range []os.FileMode{0o640, 0o620, 0o604, 0o666, 0o644, 0o600, 0o400} {
				if err := os.Chmod(file, mode); err != nil {
					t.Fatal(err)
				}
				got, err := kept(folder)
				if private := mode&0o077 == 0; private != (err == nil) || private && got != made {
					t.Errorf("%s, a link %v, %04o: %v", name, linked, mode, err)
				}
				if err != nil && (!strings.Contains(said(err), "chmod 600 ") || strings.Contains(said(err), made)) {
					t.Errorf("%s, %04o: %v", name, mode, err)
				}
			}
		}
	}
}
