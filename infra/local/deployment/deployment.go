// Package deployment owns the copy of template.yaml and of the state machines that is in the executable, so that the
// executable needs no other file. A test holds the copy to the files.
package deployment

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"io/fs"
)

//go:embed deployment.zip
var archive []byte

// Template is the name of the template in Files.
const Template = "template.yaml"

// Files returns template.yaml and the definitions to which it refers.
func Files() (fs.FS, error) { return zip.NewReader(bytes.NewReader(archive), int64(len(archive))) }
