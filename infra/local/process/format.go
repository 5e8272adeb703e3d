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
	table, err := ownTable()
	if err != nil {
		return err
	}
	return checkFormat(ctx, folder, table)
}

func checkFormat(ctx context.Context, folder, table string) error {
	switch format, err := formatOf(ctx, filepath.Join(folder, dataFile), table); {
	case errors.Is(err, disk.ErrHeld):
		return nil
	case err != nil:
		return ofStore(folder, err)
	case format < kv.Format:
		return refusal("data.earlier", "folder", pathWord(folder))
	case format > kv.Format:
		return refusal("data.later", "folder", pathWord(folder))
	}
	return nil
}

// checkArchived refuses the unpacked data of an archive whose format is another one.
func checkArchived(ctx context.Context, folder string) error {
	table, err := ownTable()
	if err != nil {
		return err
	}
	switch format, err := formatOf(ctx, filepath.Join(folder, dataFile), table); {
	case err != nil:
		return err
	case format < kv.Format:
		return refusal("archive.earlier")
	case format > kv.Format:
		return refusal("archive.later")
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
