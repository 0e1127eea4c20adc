// The files that a configuration names, beside each other: no two of them may be one file, since
// one would be written over the other, or into the configuration itself.
#pragma once

#include "steelyard/cli/source.h"

namespace steelyard::cli {

// Adds what is wrong to the source's problems, at its place. Looks at the files, makes none. A log
// that this user may not write is left to who opens it.
void check_files(const config::Document& document, const Source& source,
                 schema::Problems& problems);

}  // namespace steelyard::cli
