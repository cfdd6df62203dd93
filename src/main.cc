#include "cli/app.h"

int main(int argc, char** argv) { return allot::cli::Main(argc, argv); }
