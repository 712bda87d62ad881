// SPDX-License-Identifier: MIT
//
// Files, opened beneath a root through the loop.

#include "disk/file.h"

#include "base/contract.h"
#include "base/memory.h"
#include "base/sized.h"
#include "io/disk.h"
#include "io/file.h"
#include "io/reserve.h"
#include "io/scratch.h"
#include "disk/home.h"
#include "disk/root.h"

#include <errno.h>
#include <unistd.h>

// ---- Opening ----

typedef struct file_opening {
    io_op op;
    skua_worker *worker;
    skua_file *file;
    skua_file_opened_fn *fn;
    void *user;
    work_tie tie;
    char path[];
} file_opening;

// Clients that are not there yet wait until the reserve is whole: files that are only kept open for
// later have to go.
static void file_save_descriptors(io_loop *loop)
{
    while (reserve_is_short() && loop->evict && loop->evict(loop)) {
    }
}

static void file_opened(io_op *op, int64_t result)
{
    file_opening *opening = op->user;
    skua_worker *w = opening->worker;
    skua_file *file = opening->file;
    skua_status status = result < 0 ? (skua_status)-result : SKUA_OK;
    if (status == SKUA_OK) {
        *file = (skua_file){ .worker = w, .refs = 1, .fd = (int)result };
    } else {
        memory_free(file);
        file = NULL;
    }
    disk_home *home = disk_home_of(w);
    home->file_ops--;
    work_return(&opening->tie, home);
    opening->fn(w, status, file, &op->info, opening->user);
    file_save_descriptors(home->loop);
    work_end(&opening->tie, home);
    memory_free(opening);
}

// All memory is taken before the file is opened: a descriptor is never without a struct that keeps
// it.
void skua_file_open_sized(skua_worker *w, skua_root *root, slice path, skua_file_opened_fn *fn,
                          void *user, const skua_sizes *sizes)
{
    home_expect(w, __func__);
    CONTRACT_GIVEN(root);
    CONTRACT_SLICE(path);
    CONTRACT_GIVEN(fn);
    CONTRACT_SIZES(sizes);
    CONTRACT_TOLD(sizes->file_info, sizeof(skua_file_info));
    file_opening *opening = memory_alloc(sizeof *opening + path.len + 1);
    skua_file *file = memory_alloc(sizeof *file);
    if (!opening || !file || (path.len && memchr(path.ptr, 0, path.len))) {
        skua_status status = opening && file ? SKUA_ENOENT : SKUA_ENOMEM;
        memory_free(opening);
        memory_free(file);
        fn(w, status, NULL, NULL, user);
        return;
    }
    *opening = (file_opening){ .worker = w, .file = file, .fn = fn, .user = user };
    if (path.len) memcpy(opening->path, path.ptr, path.len);
    opening->path[path.len] = 0;
    opening->op =
        (io_op){ .code = IO_FILE_OPEN, .fd = root_fd(root), .done = file_opened, .user = opening };
    opening->op.path = slice_make(opening->path, path.len);
    opening->op.remote = root_is_remote(root);
    opening->op.links = root_files(root).links;
    disk_home *home = disk_home_of(w);
    home->file_ops++;
    work_begin(&opening->tie, home);
    io_submit(home->loop, &opening->op);
}

// ---- Reading ----

typedef struct file_loading {
    io_op op;
    skua_file *file; // a reference
    size_t octets;   // that have been read
    skua_file_loaded_fn *fn;
    void *user;
    work_tie tie;
} file_loading;

static void file_loaded_some(io_op *op, int64_t result)
{
    file_loading *loading = op->user;
    skua_file *file = loading->file;
    disk_home *home = disk_home_of(file->worker);
    if (result > 0 && (uint64_t)result < op->length) { // the file need not end there
        loading->octets += (size_t)result;
        op->buffer += result;
        op->offset += (uint64_t)result;
        op->length -= (uint64_t)result;
        io_submit(home->loop, op);
        return;
    }
    home->file_ops--;
    work_return(&loading->tie, home);
    if (result >= 0)
        loading->fn(file->worker, SKUA_OK, loading->octets + (size_t)result, loading->user);
    else loading->fn(file->worker, (skua_status)-result, 0, loading->user);
    work_end(&loading->tie, home);
    skua_file_unref(file);
    memory_free(loading);
}

void skua_file_load(skua_file *file, uint64_t offset, char *buffer, size_t room,
                    skua_file_loaded_fn *fn, void *user)
{
    file_expect(file, __func__);
    CONTRACT(buffer || !room, "buffer must not be NULL");
    CONTRACT_GIVEN(fn);
    file_loading *loading = memory_alloc(sizeof *loading);
    if (!loading) {
        fn(file->worker, SKUA_ENOMEM, 0, user);
        return;
    }
    *loading = (file_loading){ .file = skua_file_ref(file), .fn = fn, .user = user };
    loading->op =
        (io_op){ .code = IO_FILE_READ, .fd = file->fd, .done = file_loaded_some, .user = loading };
    loading->op.buffer = buffer;
    loading->op.offset = offset;
    loading->op.length = room;
    disk_home *home = disk_home_of(file->worker);
    home->file_ops++;
    work_begin(&loading->tie, home);
    io_submit(home->loop, &loading->op);
}

skua_status skua_file_read(skua_file *file, uint64_t offset, char *buffer, size_t room,
                           size_t *octets)
{
    CONTRACT_GIVEN(file);
    CONTRACT(buffer || !room, "buffer must not be NULL");
    CONTRACT_GIVEN(octets);
    ssize_t n;
    do {
        n = pread(file->fd, buffer, room, (off_t)offset);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return SKUA_EIO;
    *octets = (size_t)n;
    return SKUA_OK;
}

// ---- Holding, and keeping ----

skua_file *skua_file_ref(skua_file *file)
{
    file_expect(file, __func__);
    file->refs++;
    return file;
}

static void file_close_scratch(void *user)
{
    skua_file *file = user;
    (void)close(file->fd);
}

static void file_scratch_closed(skua_worker *w, void *user)
{
    (void)w;
    memory_free(user);
}

// The kernel gives back the room of a file without a name when it is closed, which takes time for a
// large one.
static void file_drop_scratch(skua_file *file)
{
    disk_home *home = disk_home_of(file->worker);
    disk_forget(home->loop, file->fd);
    if (!home->draining &&
        skua_offload(file->worker, file_close_scratch, file_scratch_closed, file) == SKUA_OK) {
        return;
    }
    file_close_scratch(file);
    memory_free(file);
}

void skua_file_unref(skua_file *file)
{
    file_expect(file, __func__);
    CONTRACT(file->refs > 0, "called more often than there are references");
    if (--file->refs) return;
    if (file->is_scratch) {
        file_drop_scratch(file);
        return;
    }
    io_loop *loop = disk_home_of(file->worker)->loop;
    loop->backend->discard(loop, file->fd);
    memory_free(file);
}

skua_status skua_file_keep(skua_file *file, skua_root *root, slice path)
{
    CONTRACT_GIVEN(file);
    CONTRACT_GIVEN(root);
    CONTRACT_SLICE(path);
    char text[ROOT_PATH_OCTETS];
    if (!file->is_scratch) return SKUA_EUNSUPPORTED;
    if (!root_path(path, text)) return SKUA_ENOENT;
    char *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text;
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return SKUA_EINVAL;
    if (slash) *slash = 0;
    int directory = -1;
    skua_status status = file_open_directory(root_files(root), slash ? text : "", &directory);
    if (status) return status;
    status = scratch_link(file->fd, directory, name);
    reserve_close(directory);
    return status;
}
