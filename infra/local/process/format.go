package process

import (
	"context"
	"errors"
	"io/fs"
	"localaws/disk"
	engine "localaws/dynamodb"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/store"
	"piloto/internal/store/kv"
)

// CheckFormat refuses a data folder of another format, older or newer. It only reads, so a folder that is refused is as it was. A
// folder without data is of this format, and so is one that a process has open.
func CheckFormat(ctx context.Context, folder string) error {
	err := checkFolder(ctx, folder)
	if errors.Is(err, disk.ErrHeld) {
		return nil
	}
	return ofStore(folder, err)
}

// checkFolder is CheckFormat with the data file's own errors: a folder that a process has open is disk.ErrHeld, because it may be of
// any format when that process lets it go.
func checkFolder(ctx context.Context, folder string) error {
	table, err := ownTable()
	if err != nil {
		return err
	}
	return checkTable(ctx, folder, table)
}

// checkTable is checkFolder for the table of a template that was read already.
func checkTable(ctx context.Context, folder, table string) error {
	return checkFormat(ctx, folder, table, refusal("data.earlier", "folder", pathWord(folder)), refusal("data.later", "folder", pathWord(folder)))
}

// checkArchived refuses the unpacked data of an archive whose format is another one.
func checkArchived(ctx context.Context, folder string) error {
	table, err := ownTable()
	if err != nil {
		return err
	}
	return checkFormat(ctx, folder, table, refusal("archive.earlier"), refusal("archive.later"))
}

func checkFormat(ctx context.Context, folder, table string, earlier, later error) error {
	switch format, err := formatOf(ctx, filepath.Join(folder, dataFile), table); {
	case err != nil:
		return err
	case format < kv.Format:
		return earlier
	case format > kv.Format:
		return later
	}
	return nil
}

// formatOf returns the format of a data file; 0: it does not say one. A file that is not there, or has no rows, is of this format.
func formatOf(ctx context.Context, path, table string) (format int, err error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return kv.Format, nil
	}
	data, err := disk.OpenReadOnly(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	rows, err := engine.OpenReadOnly(data)
	if err != nil {
		return 0, err
	}
	client := engine.NewClient(rows)
	format, err = store.New(tables{client: client}, table).ReadFormat(ctx)
	if missing := (*types.ResourceNotFoundException)(nil); errors.As(err, &missing) {
		return kv.Format, nil
	}
	if !errors.Is(err, store.ErrNoFormat) {
		return format, err
	}
	out, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: &table, Limit: aws.Int32(1)})
	if err == nil && len(out.Items) == 0 { // a start was interrupted
		return kv.Format, nil
	}
	return 0, err
}

// ownTable returns the name of the table of this program's template.
func ownTable() (string, error) {
	t, err := Options{}.readTemplate()
	if err != nil {
		return "", err
	}
	t.Stack = stack
	return t.Names()[t.Tables[0].ID], nil
}

// table returns the name of the table.
func (p *Process) table() string { return p.names[p.template.Tables[0].ID] }
